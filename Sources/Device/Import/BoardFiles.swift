/// A file or folder in which programs of a board store networks.
public struct BoardFile: Sendable, Equatable {
    public enum Format: Sendable, Equatable {
        case networkManager
        case netplan
        case wpaSupplicant
        case iwd
        case dhcpcd
        case customTOML
        case firstRun
        case ifupdown
        case networkd
        /// Files of a program whose networks altnet does not read.
        case unread(program: String)
    }

    public let path: String
    public let format: Format
    /// Endings of the files to read in a folder; empty for a file.
    public let endings: [String]

    public init(_ path: String, _ format: Format, endings: [String] = []) {
        (self.path, self.format, self.endings) = (path, format, endings)
    }

    public var isFolder: Bool { !endings.isEmpty }

    /// Returns whether to read a file of the folder. Backup copies of editors and dpkg are skipped.
    /// - Parameter name: name of the file, in any encoding.
    public func matches(_ name: [UInt8]) -> Bool {
        func ends(with ending: String) -> Bool { name.reversed().starts(with: ending.utf8.reversed()) }
        return endings.contains(where: ends) && !Self.copies.contains(where: ends)
    }

    private static let copies = ["~", ".bak", ".swp", ".orig", ".dpkg-old", ".dpkg-new", ".dpkg-dist"]

    /// All sources, the most trusted first. Files in use come before files of the first setup.
    public static let all: [BoardFile] = [
        // Before version 1.14, NetworkManager's files had no ending.
        BoardFile("/etc/NetworkManager/system-connections", .networkManager, endings: [""]),
        BoardFile("/run/NetworkManager/system-connections", .networkManager, endings: [".nmconnection"]),
        BoardFile("/usr/lib/NetworkManager/system-connections", .networkManager, endings: [".nmconnection"]),
        // A file hides those of the same name in the next folders.
        BoardFile("/run/netplan", .netplan, endings: [".yaml"]),
        BoardFile("/etc/netplan", .netplan, endings: [".yaml"]),
        BoardFile("/lib/netplan", .netplan, endings: [".yaml"]),
        BoardFile("/var/lib/iwd", .iwd, endings: IwdSource.endings.map { "." + $0 }),
        BoardFile("/etc/network/interfaces", .ifupdown),
        BoardFile("/etc/network/interfaces.d", .ifupdown, endings: [""]),
        BoardFile("/etc/wpa_supplicant", .wpaSupplicant, endings: [".conf"]),
        BoardFile("/etc/wpa_supplicant.conf", .wpaSupplicant),
        BoardFile("/var/lib/cloud/seed/nocloud/network-config", .netplan),
        BoardFile("/var/lib/cloud/seed/nocloud-net/network-config", .netplan),
        BoardFile("/boot/firmware/network-config", .netplan),
        BoardFile("/boot/firmware/custom.toml", .customTOML),
        BoardFile("/boot/firmware/firstrun.sh", .firstRun),
        BoardFile("/boot/firmware/wpa_supplicant.conf", .wpaSupplicant),
        BoardFile("/boot/network-config", .netplan),
        BoardFile("/boot/custom.toml", .customTOML),
        BoardFile("/boot/firstrun.sh", .firstRun),
        BoardFile("/boot/wpa_supplicant.conf", .wpaSupplicant),
        BoardFile("/etc/systemd/network", .networkd, endings: [".network"]),
        BoardFile("/etc/dhcpcd.conf", .dhcpcd),
        BoardFile(
            "/var/lib/connman", .unread(program: "ConnMan"), endings: [".config", "_psk", "_none", "_ieee8021x"]),
        BoardFile("/boot/firmware/dietpi-wifi.txt", .unread(program: "DietPi")),
        BoardFile("/boot/dietpi-wifi.txt", .unread(program: "DietPi")),
    ]

    /// Whether the list has the path of a file, or of a file in a folder.
    public static func contains(_ path: String) -> Bool {
        all.contains { file in
            file.path == path
                || file.isFolder && file.matches(Array(path.utf8))
                    && path.split(separator: "/").dropLast().elementsEqual(file.path.split(separator: "/"))
        }
    }

    /// File with the times at which NetworkManager's connections were last up.
    public static let timestamps = "/var/lib/NetworkManager/timestamps"

    /// - Parameters:
    ///   - source: path of the file, for messages.
    ///   - changed: modification time, in seconds since 1970.
    public func read(
        _ bytes: UnsafeRawBufferPointer, from source: String, named name: [UInt8], changed: UInt64?,
        timestamps: NetworkManagerSource.Timestamps
    ) -> SourceContents {
        switch format {
        case .networkManager: NetworkManagerSource.keyFile(bytes, from: source, timestamps: timestamps)
        case .netplan: NetplanSource.read(bytes, from: source)
        case .wpaSupplicant: WpaSupplicantSource.read(bytes, from: source)
        case .iwd: IwdSource.read(bytes, named: name, from: source, changed: changed)
        case .dhcpcd: DhcpcdSource.read(bytes, from: source)
        case .customTOML: ImagerSource.customTOML(bytes, from: source)
        case .firstRun: ImagerSource.firstRun(bytes, from: source)
        case .ifupdown: IfupdownSource.read(bytes, from: source)
        case .networkd: NetworkdSource.read(bytes, from: source)
        case .unread(let program):
            // DietPi's template has empty names.
            SourceText(bytes).firstIndex(of: "aWIFI_SSID[0]=''") == nil
                ? SourceContents(ImportFinding(ImportLocation(source), .notRead(program: program))) : SourceContents()
        }
    }
}
