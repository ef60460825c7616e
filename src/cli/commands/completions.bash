_checkpoint_complete() {
    local IFS=$'\013' line=${COMP_LINE:0:COMP_POINT} words=() word= breaks i
    local quote= plain= raw= before= behind= sign is_quoted=
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
    COMPREPLY=()
    word=${words[${#words[@]}-1]} breaks=${COMP_WORDBREAKS//[^:=@]}
    # What bash replaces begins behind an open quote, else behind the last sign outside quotes
    # where it cuts words.
    for (( i = 0; i < ${#word}; i++ )); do
        sign=${word:i:1}
        if [[ -n $quote && $sign == "$quote" ]]; then
            quote=
        elif [[ -z $quote && $sign == [\'\"] ]]; then
            quote=$sign behind=$plain is_quoted=1
        elif [[ $sign == \\ && $quote != \' ]]; then
            (( ++i ))
            plain+=${word:i:1}
        else
            plain+=$sign
            [[ -z $quote && $breaks == *"$sign"* ]] && before=$plain raw=${word:0:i+1}
        fi
    done
    [[ -n $quote ]] && before=$behind
    if [[ -z $is_quoted ]]; then
        before=$raw
    elif [[ $before == *[^A-Za-z0-9_./,:+@%=~-]* ]]; then
        # The candidates have other quotes there.
        return 0
    fi
    read -r -d '' -a COMPREPLY < <(
        _CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$(( ${#words[@]} - 1 )) ASKING -- "${words[@]}"
    )
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
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
