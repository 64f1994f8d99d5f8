
# altnet-mqtt completes 'altnet fleet'. Its script is in the same folder as this one.
_altnet_or_fleet() {
    if [[ "${COMP_WORDS[1]-}" != fleet || "${COMP_CWORD}" -lt 2 ]]; then
        _altnet "${@}"
        return
    fi
    local file
    for file in "${BASH_SOURCE[0]%/*}"/altnet-mqtt{,.bash}; do
        declare -F _altnet-mqtt >/dev/null && break
        # shellcheck disable=SC1090
        [[ ! -r "${file}" ]] || . "${file}"
    done
    declare -F _altnet-mqtt >/dev/null || return 0
    local COMP_LINE="altnet-mqtt${COMP_LINE#"${COMP_WORDS[0]}"}"
    local COMP_POINT=$((COMP_POINT + 11 - ${#COMP_WORDS[0]}))
    local -a COMP_WORDS=(altnet-mqtt "${COMP_WORDS[@]:1}")
    _altnet-mqtt altnet-mqtt "${2}" "${3}"
}
complete -o filenames -F _altnet_or_fleet altnet
