import KeyFile

/// A file of altnet on a device, and the actions that remove it. `PersistentFile.all` is the only list: resets use it,
/// `make docs` writes it to Docs/reference/kept-files.md, and tests compare it with the disk, the purge script and the
/// units.
package struct PersistentFile: Sendable {
    package let location: Location
    /// Name of the file in its folder. For a file of `system`, the path; for a path from settings, the usual name. May
    /// end with `*`.
    package let name: String
    /// Suffixes of copies that a change or a power cut leaves.
    package var suffixes = [""]
    package let content: String
    package let removedBy: RemovedBy
    /// Reason why an action keeps the file; empty if all remove it.
    package var reason = ""

    package struct RemovedBy: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let reset = RemovedBy(rawValue: 1 << 0)
        /// The button's reset: `altnet factory-reset --keep-identity`.
        package static let button = RemovedBy(rawValue: 1 << 1)
        package static let purge = RemovedBy(rawValue: 1 << 2)

        package static let resets: RemovedBy = [.reset, .button]
        package static let all: RemovedBy = [.resets, .purge]
    }

    package enum Location: Sendable {
        case state
        /// Folder of the agent's socket.
        case runtime
        /// Paths from settings. These three are destroyed with the store.
        case store, rootKey, anchor
        case recording, metrics, metricsSocket, socket
        case system
        /// Settings of other programs, owned by root. The removal of the package restores them, before a purge.
        case givenBack
    }

    package var names: [String] { suffixes.map { name + $0 } }
}

extension PersistentFile {
    private static let replaced = ["", ".new"]

    package static let all: [PersistentFile] = [
        // Identity, and keys that give access to the device.
        PersistentFile(
            location: .state, name: AppKeyFile.name, suffixes: replaced, content: "keys of apps, invitations",
            removedBy: .all),
        identity(IdentityFolder.next, "a new identity, not yet in use"),
        identity(IdentityFolder.key, "local key"),
        identity(IdentityFolder.id, "device id"),
        identity(IdentityFolder.certificate, "certificate and its key"),
        PersistentFile(
            location: .rootKey, name: "root-key", suffixes: RootKeyFile.suffixes, content: "root key",
            removedBy: .all),
        // Store and learned data.
        PersistentFile(
            location: .store, name: "keyfile", suffixes: StoreEraser.suffixes,
            content: "networks, statistics, outages", removedBy: .all),
        PersistentFile(
            location: .anchor, name: "ALTNET_KEYFILE_ANCHOR", suffixes: replaced, content: "the store's position",
            removedBy: .resets, reason: elsewhere),
        PersistentFile(
            location: .state, name: RecoveryFile.name, suffixes: replaced, content: "recovery steps of the radio",
            removedBy: .all),
        PersistentFile(
            location: .recording, name: "ALTNET_RECORD", content: "the policy's recording, with names of networks",
            removedBy: .resets, reason: elsewhere),
        PersistentFile(
            location: .metrics, name: "ALTNET_METRICS_FILE", content: "metrics", removedBy: .resets, reason: elsewhere),
        PersistentFile(
            location: .state, name: FactoryReset.mark, suffixes: replaced, content: "a running reset", removedBy: .all
        ),
        // Files in memory, until the next start of the system.
        PersistentFile(
            location: .runtime, name: SetupAccessPointFile.name, suffixes: replaced,
            content: "reason for the open setup access point",
            removedBy: .all),
        PersistentFile(
            location: .runtime, name: DeviceNameFile.name, suffixes: replaced, content: "the device's name",
            removedBy: .all),
        PersistentFile(
            location: .runtime, name: ReadingMarks.folder + "/*", content: "sources of data that crashed the agent",
            removedBy: .all),
        PersistentFile(
            location: .socket, name: "altnet.sock", suffixes: replaced, content: "socket for programs",
            removedBy: .purge,
            reason: socket),
        PersistentFile(
            location: .metricsSocket, name: "ALTNET_METRICS_LISTEN", suffixes: replaced, content: "socket for metrics",
            removedBy: [],
            reason: socket),
        PersistentFile(
            location: .runtime, name: "wpa_ctrl_*", content: "wpa_supplicant's answers", removedBy: .purge,
            reason: socket),
        PersistentFile(
            location: .runtime, name: "providers.sock", content: "a link to the providers' socket", removedBy: .purge,
            reason: socket),
        system("/run/altnet-wpa/*", "wpa_supplicant's sockets", socket),
        system("/run/altnet-providers.sock", "socket of the providers", socket),
        system("/run/altnet-resolver.sock", "socket of root's helper", socket),
        system("/run/altnet-modem.sock", "socket of root's helper", socket),
        system("/run/altnet-radio.sock", "socket of root's helper", socket),
        system("/run/altnet-radio/*", "the device behind an interface", helper),
        system("/run/altnet-interface/*", "stopped programs, previous kernel settings", helper),
        system("/run/altnet-resolver/*", "name servers of each interface", helper),
        system("/run/altnet-trial.lock", "lock of a trial", helper),
        // Settings of the system, changed while altnet uses the interface.
        givenBack("/run/systemd/network/05-altnet*"),
        givenBack("/run/systemd/networkd.conf.d/90-altnet*"),
        givenBack("/run/systemd/dnssd/altnet*"),
        givenBack("/run/systemd/resolved.conf.d/90-altnet*"),
        givenBack("/run/systemd/system/dhcpcd.service.d/90-altnet*"),
        givenBack("/run/systemd/system/iwd.service.d/90-altnet*"),
        givenBack("/run/systemd/system/altnet-trial*"),
        givenBack("/run/NetworkManager/conf.d/90-altnet*"),
        givenBack("/etc/modprobe.d/00-altnet*"),
        givenBack("/etc/resolv.conf*"),
        system("/etc/avahi/services/altnet.service", "the device's name in the network", helper),
        system("/etc/altnet/altnet.conf", "settings", maker),
        system("/etc/altnet/wpa_supplicant.conf", "settings of wpa_supplicant, without networks", maker),
        system("/etc/altnet/mqtt/*", "password and keys of the broker", maker),
        system(
            "/var/lib/altnet-mqtt/commands", suffixes: replaced, "ids of the broker's last commands",
            "prevents a second run of a broker's command"),
        system(
            "/boot/altnet-error.txt", suffixes: replaced, "reason for an unused file on the boot partition",
            "it is beside the user's file and is removed with it"),
        system(
            "/boot/firmware/altnet-error.txt", suffixes: replaced, "reason for an unused file on the boot partition",
            "it is beside the user's file and is removed with it"),
    ]

    private static let elsewhere = "a purge no longer knows the setting"
    private static let socket = "a socket, without content"
    private static let helper = "belongs to the system, not to an owner"
    private static let maker = "belongs to the maker (root)"

    private static func identity(_ name: String, _ content: String) -> PersistentFile {
        PersistentFile(
            location: .state, name: name, suffixes: replaced, content: content, removedBy: [.reset, .purge],
            reason: "the label stays valid")
    }

    private static func system(
        _ path: String, suffixes: [String] = [""], _ content: String, _ reason: String
    ) -> PersistentFile {
        PersistentFile(
            location: .system, name: path, suffixes: suffixes, content: content, removedBy: .purge, reason: reason)
    }

    private static func givenBack(_ path: String) -> PersistentFile {
        PersistentFile(
            location: .givenBack, name: path, content: "settings of other programs", removedBy: .purge,
            reason: "given back when altnet is disabled or removed")
    }
}

extension PersistentFile {
    /// Returns the file's paths on a device with these settings; empty if the file's setting is not set.
    package func paths(_ settings: AgentSettings) -> [String] {
        let path: String?
        switch location {
        case .state: path = "\(settings.stateDirectory)/\(name)"
        case .runtime: path = "\(settings.socketFolder)/\(name)"
        case .store: path = settings.keyFilePath
        case .rootKey: if case .file(let file) = settings.storePlace.rootKey { path = file } else { path = nil }
        case .anchor: path = settings.keyFileAnchorPath
        case .recording: path = settings.recordPath
        case .metrics:
            guard let file = settings.metrics.file else { return [] }
            let (folder, name) = MetricsPublisher.parts(of: file)
            return [file, MetricsFile.temporary(in: folder, of: name)]
        case .metricsSocket: if case .file(let file)? = settings.metrics.endpoint { path = file } else { path = nil }
        case .socket: path = settings.socketPath
        case .system, .givenBack: path = name
        }
        return path.map { path in suffixes.map { path + $0 } } ?? []
    }

    package func isAt(_ path: String, _ settings: AgentSettings) -> Bool {
        paths(settings).contains { $0.hasSuffix("*") ? path.hasPrefix($0.dropLast()) : path == $0 }
    }
}
