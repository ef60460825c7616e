_checkpoint_complete() {
    local IFS=$'\013' line=${COMP_LINE:0:COMP_POINT} words=() word= before= quote= i
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
    if [[ $word == [\"\']* ]]; then
        # Bash keeps an open quote, and ends it.
        quote=${word:0:1}
    elif [[ -n $breaks && $word == *[$breaks]* ]]; then
        # Bash replaces what follows the last sign where it cuts words.
        before=${word%"${word##*[$breaks]}"}
    fi
    COMPREPLY=()
    while read -r -d "$IFS" word; do
        [[ -n $word ]] || continue
        [[ -n $quote ]] || printf -v word %q "$word"
        COMPREPLY+=("${word#"$before"}")
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
