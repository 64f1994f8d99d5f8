import AgentCore
import AppProtocol
import Failover
import KeyFile
import Logging

package struct SettingGroup: Sendable {
    package let title: String
    package let settings: [Setting]
}

extension Setting {
    /// All settings in the order of the documentation. Computed, as a running agent does not need them.
    package static var groups: [SettingGroup] {
        [
            SettingGroup(
                title: "The device",
                settings: [
                    interface, spareInterface, standby, spareGrace, supplicantDirectory, country, powerSave,
                    powerSaveNetworks, recovery, easyConnect,
                ]),
            SettingGroup(
                title: "Addresses and name servers",
                settings: [
                    addressClient, resolver, routeMetric, dhcpClientIdentifier, dhcpHostName, dhcpAnonymous,
                ]),
            SettingGroup(
                title: "What is kept", settings: [stateDirectory, keyFile, rootKey, keyFileAnchor, maximumBackups]),
            SettingGroup(
                title: "Apps",
                settings: [
                    socket, socketMode, socketGroup, socketReaders, lanPort, lanConnections, preSharedKey, webInterface,
                    pairingCode,
                    pairingCodeLife, providers,
                ]),
            SettingGroup(
                title: "When a link is left",
                settings: [
                    weak2G, critical2G, floor2G, weak5G, critical5G, floor5G, margin, criticalConfirmation,
                    weakConfirmation,
                    fadingHorizon, silentBeacons, idleLooks, returnConfirmation, stayAfterCommand, scanShare,
                ]),
            SettingGroup(title: "How long a network is tried", settings: [joinLimit, addressLimit, wrongKeyBlock]),
            SettingGroup(
                title: "How far the network has to lead",
                settings: [
                    requiredLevel, targets, authorities, keepAlive, keepAliveRetry, keepAliveCount, keepAliveRequest,
                    validationURL, validationStatus, validationBody, validationInterval, validationLimit,
                    validationStrikes,
                    validationRetry, validationDoubtLimit, signInLimit, noInternetRetry, validationQuestions,
                    validationVolume,
                ]),
            SettingGroup(
                title: "The device's own access point",
                settings: [
                    rescue, rescueInterface, rescueRadio, rescueName, rescueUnseen, rescueRefused, rescueIdle,
                    rescueTime,
                ]),
            SettingGroup(title: "The button", settings: [buttonKey, buttonProvisioning, buttonReset]),
            SettingGroup(
                title: "Improv",
                settings: [improvWindow, improvAtStart, improvPage, improvLight, improvProgram]),
            SettingGroup(title: "Metrics", settings: [metricsFile, metricsListen, metricsStatsD]),
            SettingGroup(title: "A broker", settings: mqtt),
            SettingGroup(title: "Log and recording", settings: [logLevel, record, recordLimit]),
        ]
    }

    package static var all: [Setting] { groups.flatMap(\.settings) }

    // MARK: The device

    static let interface = Setting(
        "INTERFACE", .interface, .value("wlan0"), .onRestart,
        "The Wi-Fi interface. It may be missing when the agent starts, as a USB stick may: the agent waits for it.")
    static let spareInterface = Setting(
        "SPARE_INTERFACE", .interface, .implied("none", example: "wlan1"), .onRestart,
        "A second Wi-Fi interface, of another radio or of the same: with it the next network is joined, and found good, before "
            + "the present one is left. Where there is none of that name, and the radio allows it, the agent makes it. It needs a "
            + "wpa_supplicant as the first does, which the Debian package sees to.")
    static let standby = Setting(
        "STANDBY", .oneOf(StandbyChoice.allCases.map(\.rawValue)), .value(StandbyChoice.whenWeak.rawValue), .onRestart,
        "When the spare interface joins the next network: when the present one is about to be left (when-weak), or always, in power "
            + "save, so that a loss takes no more than to notice it; or never, as if there was no spare interface (off)."
    )
    static let spareGrace = seconds(
        "SPARE_GRACE_S", 0...3600, standard: .seconds(30), .onRestart,
        "How long the network that was left so stays joined, for what was begun in it.")
    static let supplicantDirectory = Setting(
        "SUPPLICANT_DIR", .path, .value("/run/wpa_supplicant"), .onRestart,
        "The folder of wpa_supplicant's control sockets. The one in it that is named after the interface is used. "
            + "The packaged service sets /run/altnet-wpa in its environment, which counts before this.")
    static let country = Setting(
        "COUNTRY", .other("the code of a country in capital letters (ISO 3166), such as DE, or 00 for the world"),
        .implied("left to wpa_supplicant and the kernel", example: "DE"), .onRestart,
        "The country that the device is in, whose rules say on which channels it may send, and how loudly.")

    static let powerSave = Setting(
        "POWER_SAVE", .oneOf(PowerSave.allCases.map(\.rawValue)), .value(PowerSave.off.rawValue), .onRestart,
        "Whether the radio may sleep between beacons. While it does, the device answers late, by up to seconds with some "
            + "firmware; off is set whenever the radio appears. traffic lets it sleep when the device has sent and received "
            + "next to nothing for 30 s, and wakes it within 5 s of more. driver leaves it as the driver has it.")
    static let powerSaveNetworks = Setting(
        "POWER_SAVE_NETWORKS",
        .other("names of networks, each with =off, =on or =traffic, and semicolons between them (in a name: \\x3b)"),
        .implied("none", example: "Garden=on;Shed=traffic"), .onRestart,
        "Networks in which power save is otherwise: where the device lives on a battery, say.")
    static let recovery = Setting(
        "RECOVERY", .oneOf(RecoveryLadder.Reach.allCases.map(\.rawValue)), .value(RecoveryLadder.Reach.driver.rawValue),
        .onRestart,
        "How far the agent goes to heal a radio that does not work: not at all (none), to setting its interface down and up "
            + "and starting wpa_supplicant anew (interface), to binding its driver anew (driver), or to rebooting the "
            + "device, at most once a day (reboot).")

    // MARK: Addresses and name servers

    static let addressClient = Setting(
        "ADDRESS_CLIENT", .oneOf(AddressClient.allCases.map(\.rawValue)), .value(AddressClient.altnet.rawValue),
        .onRestart,
        "The program that gets the interface's addresses: the agent, or another one, which the agent then watches. That one "
            + "tells the name servers, too.")
    static let resolver = Setting(
        "RESOLVER", .oneOf(ResolverChoice.allCases.map(\.rawValue)), .value(ResolverChoice.auto.rawValue), .onRestart,
        "Where the network's name servers go: to systemd-resolved, to resolvconf, or into /etc/resolv.conf. auto is the first "
            + "of these that is there; none leaves the name servers of the device as they are.")
    static let routeMetric = number(
        "ROUTE_METRIC", 1...1_000_000, standard: 600, .onRestart,
        "The metric of the interface's default route; the spare interface's is larger by 10. The route with the smaller "
            + "metric is preferred, so a cable with 100 is.")
    static let dhcpClientIdentifier = Setting(
        "DHCP_CLIENT_ID",
        .other("hardware, duid, or text: with 1 to 254 bytes after it"), .value("hardware"), .onRestart,
        "How the device says to a DHCP server which client it is: by its hardware address, by an identifier of the device that "
            + "stays when the hardware changes (RFC 4361), or by a text.")
    static let dhcpHostName = Setting(
        "DHCP_HOST_NAME", .other("labels of 1 to 63 letters, digits and hyphens, with dots between them"),
        .implied("none", example: "pump-7"), .onRestart,
        "The name that a DHCP server is told, which may enter it into its zone.")
    static let dhcpAnonymous = Setting(
        "DHCP_ANONYMOUS", .oneOf(["yes", "no"]), .value("no"), .onRestart,
        "Whether a DHCP server is told as little as possible (RFC 7844): no text, no name, and the hardware address as it is "
            + "in this network.")

    // MARK: State on disk

    static let stateDirectory = Setting(
        "STATE_DIR", .path, .value("/var/lib/altnet"), .onRestart,
        "The folder of the device's identity, and of what follows unless it has a place of its own.")
    static let keyFile = Setting(
        "KEYFILE", .path, .implied("keyfile in ALTNET_STATE_DIR", example: "/var/lib/altnet/keyfile"), .onRestart,
        "The key file, which holds the stored networks: a file, or the partition of a flash chip or block device.")
    static let rootKey = Setting(
        "ROOT_KEY", .path,
        .implied(
            """
            systemd's credential altnet.root-key where there is one, else \(AgentSettings.packagedRootKey) for who may read \
            that, else root-key in ALTNET_STATE_DIR
            """,
            example: "/var/lib/altnet/root-key"),
        .onRestart, "The file of the root key, without which the key file cannot be read.")
    static let keyFileAnchor = Setting(
        "KEYFILE_ANCHOR", .path, .implied("none", example: "/mnt/anchor/keyfile-anchor"), .onRestart,
        "A file on another medium, by which an older image of the key file is noticed.")
    static let maximumBackups = number(
        "MAX_BACKUPS", KeyFile.allowedMaximum, standard: 3, .onRestart, "How many backup networks are stored at most.")

    // MARK: Apps

    static let socket = Setting(
        "SOCKET", .path, .value("/run/altnet/altnet.sock"), .onRestart,
        "The socket on which programs of this machine are answered.")
    static let socketMode = Setting(
        "SOCKET_MODE", .permissions, .value("0660"), .onRestart, "The permissions of that socket.")
    static let socketGroup = Setting(
        "SOCKET_GROUP", .group, .implied("the agent's own", example: "0"), .onRestart,
        "The group whose members may do everything over that socket.")
    static let socketReaders = Setting(
        "SOCKET_READERS", .group, .implied("none", example: "0"), .onRestart,
        "The group whose members may ask and listen there, but change nothing.")
    static let lanPort = number(
        "LAN_PORT", 0...65_535, standard: ProtocolLimits.port, .onRestart,
        "The TCP port on which apps in the network are answered; 0: they are not.")
    static let lanConnections = number(
        "LAN_CONNECTIONS", 1...1024, standard: 32, .onRestart, "How many of those may be connected at a time.")
    static let preSharedKey = Setting(
        "PRE_SHARED_KEY", .oneOf(["yes", "no"]), .value("no"), .onRestart,
        "Whether the owner's app may come as before there were certificates, by TLS 1.2 with the key alone.")
    static let webInterface = Setting(
        "WEB_INTERFACE", .oneOf(["yes", "no"]), .value("no"), .onRestart,
        "Whether a browser in the network gets the device's page on that port, behind one of the device's keys.")
    static let pairingCode = Setting(
        "PAIRING_CODE", .oneOf(PairingCodeChoice.allCases.map(\.rawValue)), .value(PairingCodeChoice.owner.rawValue),
        .onReload,
        "What 'altnet pair --show' shows: the owner's key, or an invitation that is good for one app and a time.")
    static let pairingCodeLife = seconds(
        "PAIRING_CODE_S", ProtocolLimits.claimWithin, standard: .seconds(600), .onReload,
        "How long such an invitation is good.")
    static let providers = Setting(
        "PROVIDERS", .path, .implied("none", example: "/run/altnet-providers.sock"), .onRestart,
        "The socket of the host of hotspot providers, which sign the device in where a network asks for that.")

    // MARK: Leaving a link

    private static let policy = PolicySettings()
    private static let signals = -110 ... -20

    static let weak2G = number(
        "WEAK_2G_DBM", signals, .dBm, standard: policy.twoPointFour.weak, .onReload,
        "A link on 2.4 GHz is weak below this, and a better network is looked for.")
    static let critical2G = number(
        "CRITICAL_2G_DBM", signals, .dBm, standard: policy.twoPointFour.critical, .onReload,
        "A link on 2.4 GHz is about to break below this. It has to be below weak.")
    static let floor2G = number(
        "FLOOR_2G_DBM", signals, .dBm, standard: policy.twoPointFour.floor, .onReload,
        "A network on 2.4 GHz below this is none to leave a living link for. It has to be below weak.")
    static let weak5G = number(
        "WEAK_5G_DBM", signals, .dBm, standard: policy.five.weak, .onReload,
        "A link on 5 or 6 GHz is weak below this, and a better network is looked for.")
    static let critical5G = number(
        "CRITICAL_5G_DBM", signals, .dBm, standard: policy.five.critical, .onReload,
        "A link on 5 or 6 GHz is about to break below this. It has to be below weak.")
    static let floor5G = number(
        "FLOOR_5G_DBM", signals, .dBm, standard: policy.five.floor, .onReload,
        "A network on 5 or 6 GHz below this is none to leave a living link for. It has to be below weak.")
    static let margin = number(
        "MARGIN_DB", 1...40, .dB, standard: policy.margin, .onReload,
        "How much stronger than a weak link another network must be to be worth the switch.")
    static let criticalConfirmation = seconds(
        "CRITICAL_CONFIRM_S", 1...600, standard: policy.criticalConfirmation, .onReload,
        "A link that stays critical for this long is left. At most as long as ALTNET_WEAK_CONFIRM_S.")
    static let weakConfirmation = seconds(
        "WEAK_CONFIRM_S", 1...3600, standard: policy.weakConfirmation, .onReload,
        "A link that stays weak for this long is left.")
    static let fadingHorizon = seconds(
        "FADING_HORIZON_S", 0...300, standard: policy.fadingHorizon, .onReload,
        "A weak link that falls so fast that it will be critical within this is left as if it were; "
            + "0: it has to be critical already.")
    static let silentBeacons = number(
        "SILENT_BEACONS", 0...20, standard: 3, .onRestart,
        "An access point is asked whether it is there after so many missing beacons, and the link left at once if it does not answer; "
            + "0: lost links are left to the kernel to notice.")
    static let idleLooks = number(
        "IDLE_LOOKS", 0...300, standard: 120, .onRestart,
        "So many times a minute a device that sends little looks whether its access point is there. Each look wakes the processor; "
            + "0: lost links are left to the kernel and the firmware to notice.")
    static let returnConfirmation = seconds(
        "RETURN_CONFIRM_S", 0...86_400, standard: policy.preferredConfirmation.first, .onReload,
        "The preferred network has to be good for this long before it is returned to; "
            + "0: the device does not return by itself.")
    static let stayAfterCommand = seconds(
        "STAY_AFTER_COMMAND_S", 0...86_400, standard: policy.stayAfterCommand, .onReload,
        "For so long after a switch that an app asked for, a living link is not left for being weak, as long as few "
            + "frames are lost.")
    static let scanShare = number(
        "SCAN_SHARE", 1...50, .thousandths, standard: policy.scanShare, .onReload,
        "The share of the time that scans may take on a link that is not weak.")

    // MARK: Time limits

    static let joinLimit = seconds(
        "JOIN_LIMIT_S", 2...120, standard: policy.joinLimit, .onReload,
        "From the attempt to join until the access point has let the device in.")
    static let addressLimit = seconds(
        "ADDRESS_LIMIT_S", 2...120, standard: policy.addressLimit, .onReload,
        "From there until there are an address and a route; 10 s at most where a living link was left for it.")
    static let wrongKeyBlock = seconds(
        "WRONG_KEY_BLOCK_S", 1...86_400, standard: policy.wrongKeyBlock.first, .onReload,
        "A network that refused the password is left alone for this long, and twice as long each time after that.")
}
