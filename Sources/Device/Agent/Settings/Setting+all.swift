import AgentCore
import AgentModel
import AppProtocol
import Failover
import KeyFile

extension Setting {
    /// All settings in the order of the documentation. They are computed, because a running agent does not need them.
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
                title: "Storage", settings: [stateDirectory, keyFile, rootKey, keyFileAnchor, maximumBackups]),
            SettingGroup(
                title: "Apps",
                settings: [
                    socket, socketMode, socketGroup, socketReaders, brokerRole, lanPort, lanConnections, preSharedKey,
                    webInterface, pairingCode, pairingCodeLife, providers,
                ]),
            SettingGroup(
                title: "Leaving a link",
                settings: [
                    weak2G, critical2G, minimumSignal2G, weak5G, critical5G, minimumSignal5G, margin,
                    silentBeacons, idleLooks, returnConfirmation, stayAfterCommand, scanShare,
                ]),
            SettingGroup(title: "Joining a network", settings: [joinLimit, addressLimit, wrongKeyBlock]),
            SettingGroup(
                title: "Connectivity",
                settings: [
                    requiredLevel, targets, authorities, keepAlive, keepAliveRetry, keepAliveCount, keepAliveRequest,
                    validationURL, validationStatus, validationBody, validationInterval, validationLimit,
                    validationStrikes,
                    validationRetry, validationDoubtLimit, signInLimit, noInternetRetry, validationQuestions,
                    validationVolume,
                ]),
            SettingGroup(
                title: "Setup access point",
                settings: [
                    setupAccessPoint, setupAccessPointInterface, setupAccessPointRadio, setupAccessPointName,
                    setupAccessPointUnseen, setupAccessPointRefused, setupAccessPointIdle,
                    setupAccessPointTime,
                ]),
            SettingGroup(title: "The button", settings: [buttonKey, buttonProvisioning, buttonReset]),
            SettingGroup(
                title: "Improv",
                settings: [improvWindow, improvAtStart, improvPage, improvLight, improvProgram]),
            SettingGroup(title: "Metrics", settings: [metricsFile, metricsListen, metricsStatsD]),
            SettingGroup(title: "Log and recording", settings: [logLevel, record, recordLimit]),
        ]
    }

    package static var all: [Setting] { groups.flatMap(\.settings) }

    // MARK: The device

    static let interface = Setting(
        "INTERFACE", interfaceForm, .value("wlan0"), .onRestart,
        "The Wi-Fi interface. If it is missing, such as a USB stick, the agent waits for it. With two radios, name it "
            + "by its radio: the kernel may swap their names at a start. '/usr/lib/altnet/interface explain' shows "
            + "the addresses and the paths.")
    private static let interfaceForm = SettingForm.other(
        "\(SettingForm.interface.allowed); mac: and the radio's hardware address, such as mac:dc:a6:32:01:02:03; or "
            + "path: and the path of the radio's device in /sys/devices, in which * stands for any text")
    static let spareInterface = Setting(
        "SPARE_INTERFACE", interfaceForm, .implied("none", example: "wlan1"), .onRestart,
        "A second Wi-Fi interface, on another radio or the same one. With it the agent joins and checks the next "
            + "network before it leaves the current one. If it is missing, the agent creates it where the radio "
            + "allows. It needs its own wpa_supplicant, which the Debian package starts.")
    static let standby = Setting(
        "STANDBY", .oneOf(StandbyChoice.allCases.map(\.rawValue)), .value(StandbyChoice.whenWeak.rawValue), .onRestart,
        "When the spare interface joins the next network: while the current link is weak (when-weak), never (off), "
            + "or always, in power save, for the shortest outages."
    )
    static let spareGrace = seconds(
        "SPARE_GRACE_S", 0...3600, standard: .seconds(30), .onRestart,
        "How long the previous network stays joined after a switch to the spare interface, for open connections.")
    static let supplicantDirectory = Setting(
        "SUPPLICANT_DIR", .path, .value("/run/wpa_supplicant"), .onRestart,
        "The folder of wpa_supplicant's control sockets, which are named after the interfaces. The packaged service "
            + "sets /run/altnet-wpa in its environment, which takes precedence.")
    static let country = Setting(
        "COUNTRY", .other("the code of a country in capital letters (ISO 3166), such as DE, or 00 for the world"),
        .implied("left to wpa_supplicant and the kernel", example: "DE"), .onRestart,
        "The country of the device. Its rules limit the channels and the transmit power.")

    static let powerSave = Setting(
        "POWER_SAVE", .oneOf(PowerSave.allCases.map(\.rawValue)), .value(PowerSave.off.rawValue), .onRestart,
        "Let the radio sleep between beacons. With it the device answers late, by up to seconds with some firmware. "
            + "off disables it whenever the radio appears. traffic enables it after 30 s with almost no traffic, "
            + "and disables it within 5 s of more. driver keeps the driver's setting.")
    static let powerSaveNetworks = Setting(
        "POWER_SAVE_NETWORKS",
        .other("names of networks, each with =off, =on or =traffic, and semicolons between them (in a name: \\x3b)"),
        .implied("none", example: "Garden=on;Shed=traffic"), .onRestart,
        "Networks with another power save setting, such as one where the device runs on a battery.")
    static let recovery = Setting(
        "RECOVERY", .oneOf(RecoverySteps.Reach.allCases.map(\.rawValue)), .value(RecoverySteps.Reach.driver.rawValue),
        .onRestart,
        "The last step to repair a radio that does not work: nothing (none), setting its interface down and up and "
            + "restarting wpa_supplicant (interface), rebinding its driver (driver), or rebooting the device, at "
            + "most once a day (reboot).")

    // MARK: Addresses and name servers

    static let addressClient = Setting(
        "ADDRESS_CLIENT", .oneOf(AddressClient.allCases.map(\.rawValue)), .value(AddressClient.altnet.rawValue),
        .onRestart,
        "The DHCP client of the interface: the agent (altnet), or another program (other). The other program also sets "
            + "the name servers, and the agent only watches its addresses.")
    static let resolver = Setting(
        "RESOLVER", .oneOf(ResolverChoice.allCases.map(\.rawValue)), .value(ResolverChoice.auto.rawValue), .onRestart,
        "Where the agent sets the network's name servers: systemd-resolved, resolvconf, or /etc/resolv.conf. auto "
            + "uses the first of these that exists, none changes nothing.")
    static let routeMetric = number(
        "ROUTE_METRIC", 1...1_000_000, standard: 600, .onRestart,
        "The metric of the interface's default route; the spare interface's is larger by 10. The kernel prefers the "
            + "smallest metric, such as a cable's 100.")
    static let dhcpClientIdentifier = Setting(
        "DHCP_CLIENT_ID",
        .other("hardware, duid, or text: with 1 to 254 bytes after it"), .value("hardware"), .onRestart,
        "The DHCP client identifier: the hardware address, an identifier of the device that does not depend on the "
            + "hardware (duid, RFC 4361), or a text.")
    static let dhcpHostName = Setting(
        "DHCP_HOST_NAME", .other("labels of 1 to 63 letters, digits and hyphens, with dots between them"),
        .implied("none", example: "pump-7"), .onRestart,
        "The host name to send to a DHCP server, which may add it to its zone.")
    static let dhcpAnonymous = Setting(
        "DHCP_ANONYMOUS", .oneOf(["yes", "no"]), .value("no"), .onRestart,
        "Send as little as possible to a DHCP server (RFC 7844): no text, no name, and the hardware address in use in "
            + "this network.")

    // MARK: State on disk

    static let stateDirectory = Setting(
        "STATE_DIR", .path, .value("/var/lib/altnet"), .onRestart,
        "The folder of the device's identity, and the default folder of the files below.")
    static let keyFile = Setting(
        "KEYFILE", .path, .implied("keyfile in ALTNET_STATE_DIR", example: "/var/lib/altnet/keyfile"), .onRestart,
        "The key file with the stored networks: a file, or a partition of a flash chip or block device.")
    static let rootKey = Setting(
        "ROOT_KEY", .path,
        .implied(
            """
            systemd's credential altnet.root-key if there is one, else \(AgentSettings.packagedRootKey) if the user \
            may read it, else root-key in ALTNET_STATE_DIR
            """,
            example: "/var/lib/altnet/root-key"),
        .onRestart, "The file of the root key, which encrypts the key file.")
    static let keyFileAnchor = Setting(
        "KEYFILE_ANCHOR", .path, .implied("none", example: "/mnt/anchor/keyfile-anchor"), .onRestart,
        "A file on another medium that reveals an older image of the key file.")
    static let maximumBackups = number(
        "MAX_BACKUPS", KeyFile.allowedMaximum, standard: 3, .onRestart, "Maximum number of backup networks.")

    // MARK: Apps

    static let socket = Setting(
        "SOCKET", .path, .value("/run/altnet/altnet.sock"), .onRestart,
        "The socket for programs on this device.")
    static let socketMode = Setting(
        "SOCKET_MODE", .permissions, .value("0660"), .onRestart, "The permissions of ALTNET_SOCKET.")
    static let socketGroup = Setting(
        "SOCKET_GROUP", .group, .implied("the agent's own", example: "0"), .onRestart,
        "The group whose members may send any request to ALTNET_SOCKET.")
    static let socketReaders = Setting(
        "SOCKET_READERS", .group, .implied("none", example: "0"), .onRestart,
        "The group whose members may only read from ALTNET_SOCKET.")
    static let brokerRole = Setting(
        "MQTT_COMMANDS", .oneOf(["none"] + Role.allCases.map(\.rawValue)), .value(Role.switch.rawValue), .onRestart,
        "The rights of clients that publish requests at the MQTT broker: nothing (none), reading (see), also switching "
            + "the device (switch), or also changing what is stored (manage). Passwords must always be sealed. Apps "
            + "with a key have the key's rights through the broker, unless the value is none.")
    static let lanPort = number(
        "LAN_PORT", 0...65_535, standard: ProtocolLimits.port, .onRestart,
        "The TCP port for apps in the network; 0: none.")
    static let lanConnections = number(
        "LAN_CONNECTIONS", 1...1024, standard: 32, .onRestart, "Maximum number of connections of apps in the network.")
    static let preSharedKey = Setting(
        "PRE_SHARED_KEY", .oneOf(["yes", "no"]), .value("no"), .onRestart,
        "Accept the owner's app without certificates too, by TLS 1.2 with a pre-shared key.")
    static let webInterface = Setting(
        "WEB_INTERFACE", .oneOf(["yes", "no"]), .value("no"), .onRestart,
        "Serve the device's page to browsers on ALTNET_LAN_PORT, protected by one of the device's keys.")
    static let pairingCode = Setting(
        "PAIRING_CODE", .oneOf(PairingCodeChoice.allCases.map(\.rawValue)), .value(PairingCodeChoice.owner.rawValue),
        .onReload,
        "What 'altnet pair --show' shows: the owner's key, or an invitation for one app and a limited time.")
    static let pairingCodeLife = seconds(
        "PAIRING_CODE_S", ProtocolLimits.claimWithin, standard: .seconds(600), .onReload,
        "How long an invitation of 'altnet pair --show' is valid.")
    static let providers = Setting(
        "PROVIDERS", .path, .implied("none", example: "/run/altnet-providers.sock"), .onRestart,
        "The socket of the host of hotspot providers, which sign the device in to captive networks.")

    // MARK: Leaving a link

    private static let policy = PolicySettings()
    private static let signals = -110 ... -20

    static let weak2G = number(
        "WEAK_2G_DBM", signals, .dBm, standard: policy.twoPointFour.weak, .onReload,
        "A link on 2.4 GHz below this is weak: the agent searches for a better network.")
    static let critical2G = number(
        "CRITICAL_2G_DBM", signals, .dBm, standard: policy.twoPointFour.critical, .onReload,
        "A link on 2.4 GHz below this is critical. Must be below ALTNET_WEAK_2G_DBM.")
    static let minimumSignal2G = number(
        "FLOOR_2G_DBM", signals, .dBm, standard: policy.twoPointFour.minimumSignal, .onReload,
        "Minimum signal of a network on 2.4 GHz to leave a working link for. Must be below ALTNET_WEAK_2G_DBM.")
    static let weak5G = number(
        "WEAK_5G_DBM", signals, .dBm, standard: policy.five.weak, .onReload,
        "A link on 5 or 6 GHz below this is weak: the agent searches for a better network.")
    static let critical5G = number(
        "CRITICAL_5G_DBM", signals, .dBm, standard: policy.five.critical, .onReload,
        "A link on 5 or 6 GHz below this is critical. Must be below ALTNET_WEAK_5G_DBM.")
    static let minimumSignal5G = number(
        "FLOOR_5G_DBM", signals, .dBm, standard: policy.five.minimumSignal, .onReload,
        "Minimum signal of a network on 5 or 6 GHz to leave a working link for. Must be below ALTNET_WEAK_5G_DBM.")
    static let margin = number(
        "MARGIN_DB", 1...40, .dB, standard: policy.margin, .onReload,
        "How much stronger than a weak link another network must be for a switch.")
    static let silentBeacons = number(
        "SILENT_BEACONS", 0...20, standard: 3, .onRestart,
        "Probe the access point after this many missed beacons, and leave it if it does not answer; 0: rely on the "
            + "kernel to detect lost links.")
    static let idleLooks = number(
        "IDLE_LOOKS", 0...300, standard: 120, .onRestart,
        "How many times a minute a device with little traffic checks its access point. Each check wakes the "
            + "processor; 0: rely on the kernel and the firmware to detect lost links.")
    static let returnConfirmation = seconds(
        "RETURN_CONFIRM_S", 0...86_400, standard: policy.preferredConfirmation, .onReload,
        "How long the preferred network must be good before the device returns to it; 0: never return without a "
            + "command.")
    static let stayAfterCommand = seconds(
        "STAY_AFTER_COMMAND_S", 0...86_400, standard: policy.stayAfterCommand, .onReload,
        "How long the device stays in a network after a command, even if the link is weak, as long as it loses few "
            + "frames.")
    static let scanShare = number(
        "SCAN_SHARE", 1...50, .thousandths, standard: policy.scanShare, .onReload,
        "Maximum share of time for scans on a link that is not weak.")

    // MARK: Time limits

    static let joinLimit = seconds(
        "JOIN_LIMIT_S", 2...120, standard: policy.joinLimit, .onReload,
        "Time limit for a join, up to the association with the access point.")
    static let addressLimit = seconds(
        "ADDRESS_LIMIT_S", 2...120, standard: policy.addressLimit, .onReload,
        "Time limit from the association to an address and a route; at most 10 s after leaving a working link.")
    static let wrongKeyBlock = seconds(
        "WRONG_KEY_BLOCK_S", 1...86_400, standard: policy.wrongKeyBlock.first, .onReload,
        "How long to block a network after it has refused the password; doubles each time.")
}
