_checkpoint_complete() {
    local IFS=$'\013' line=${COMP_LINE:0:COMP_POINT} words=() word= plain= before= opened= quote= sign= i
    local breaks=${COMP_WORDBREAKS//[^:=@]}
    for (( i = 0; i <= COMP_CWORD; i++ )); do
        if [[ $i == 0 || $line == [[:blank:]]* ]]; then
            line=${line#"${line%%[![:blank:]]*}"}
            words+=("")
        fi
        word=${COMP_WORDS[i]}
        (( i == COMP_CWORD )) && word=$line
        words[${#words[@]}-1]+=$word
        line=${line#"$word"}
    done
    word=${words[${#words[@]}-1]}
    # Bash replaces what follows an open quote, which it ends, or the last sign where it cuts words.
    for (( i = 0; i < ${#word}; i++ )); do
        sign=${word:i:1}
        case $quote$sign in
            \\ | \"\\) plain+=${word:i+1:1} i=$((i+1)) ;;
            \" | \') quote=$sign opened=$plain ;;
            \"\" | \'\') quote= ;;
            *)
                plain+=$sign
                [[ -z $quote && $breaks == *"$sign"* ]] && before=$plain
                ;;
        esac
    done
    [[ -z $quote ]] || before=$opened
    COMPREPLY=()
    while read -r -d "$IFS" word; do
        [[ -n $word ]] || continue
        word=${word#"$before"}
        case $quote in
            \") for sign in \\ \" \$ \`; do word=${word//"$sign"/"\\$sign"}; done ;;
            \') word=${word//\'/"'\\''"} ;;
            *) [[ -z $word ]] || printf -v word %q "$word" ;;
        esac
        COMPREPLY+=("$word")
    done < <(
        _CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$(( ${#words[@]} - 1 )) ASKING -- "${words[@]}"
        printf %s "$IFS"
    )
    if [[ ! "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt +o nospace 2> /dev/null
    fi
    return 0
}
if [[ ${BASH_VERSINFO[0]} -gt 4 || ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _checkpoint_complete checkpoint
else
    complete -o nospace -o bashdefault -F _checkpoint_complete checkpoint
fi
