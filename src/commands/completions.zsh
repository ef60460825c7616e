#compdef checkpoint
_checkpoint_complete() {
    local -a answers dirs open other
    local answer value about
    answers=("${(@f)$(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$(( CURRENT - 1 )) \
        ASKING -- "${words[@]}" 2> /dev/null)}")
    for answer in $answers; do
        answer=${answer//\\:/$'\1'}
        value=${answer%%:*}
        about=${${answer#"$value"}//$'\1'/:}
        value=${value//$'\1'/\\:}
        case $value in
            (*/) dirs+=("${value%/}$about") ;;
            (*:) open+=("$value$about") ;;
            (*) other+=("$value$about") ;;
        esac
    done
    [[ -n $other ]] && _describe -V values other
    [[ -n $open ]] && _describe -V values open -S ''
    [[ -n $dirs ]] && _describe -V values dirs -S / -r /
}
compdef _checkpoint_complete checkpoint
