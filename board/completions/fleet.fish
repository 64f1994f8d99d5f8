
# altnet-mqtt completes 'altnet fleet'. Its package has the script.
function __altnet_is_fleet
    set -l words (commandline -opc)
    test (count $words) -gt 1 -a "$words[2]" = fleet
end
complete -c altnet -n __altnet_is_fleet -a '(complete -C "altnet-mqtt "(string replace -r "^\S+\s+" "" -- (commandline -cp)))'
