# altnet-mqtt completes 'altnet fleet'. Its package has the script.
_altnet() {
    if [[ "${words[2]}" != fleet || "${CURRENT}" -lt 3 ]]; then
        _altnet_itself "${@}"
    elif (( $+functions[_altnet-mqtt] )); then
        words[1]=altnet-mqtt
        _altnet-mqtt "${@}"
    else
        return 1
    fi
}

