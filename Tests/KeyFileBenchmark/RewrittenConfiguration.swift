import Glibc

/// The networks in a `wpa_supplicant.conf`, written anew for every update: a temporary file, fsync, rename, fsync of
/// the directory. In plain text.
final class RewrittenConfiguration: Contestant {
    private let directory: String
    private var networks: [Network]

    var networkCount: Int? { networks.count }

    init(directory: String) throws {
        self.directory = directory
        let file = try OpenFile(Self.path(in: directory), O_RDONLY | O_CREAT)
        networks = try Self.parse(file.readAll())
    }

    func setUp(_ networks: [Network]) throws {
        self.networks = networks
        try rewrite()
    }

    func make(_ change: Change) throws {
        change.apply(to: &networks)
        try rewrite()
    }

    private func rewrite() throws {
        let path = Self.path(in: directory)
        let temporary = path + ".tmp"
        let file = try OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC)
        try file.write(Array(text.utf8))
        try file.synchronise()
        guard rename(temporary, path) == 0 else { throw OpenFile.failure("rename", temporary) }
        try OpenFile(directory, O_RDONLY | O_DIRECTORY).synchronise()
    }

    private static func path(in directory: String) -> String { directory + "/wpa_supplicant.conf" }

    private var text: String {
        let head = """
            ctrl_interface=DIR=/run/wpa_supplicant GROUP=netdev
            update_config=1
            country=DE

            """
        return networks.enumerated().reduce(into: head) { text, entry in
            let (index, network) = entry
            text += """

                network={
                \tssid="\(network.ssid)"
                \tpsk="\(network.passphrase)"
                \tkey_mgmt=WPA-PSK SAE
                \tieee80211w=1
                \tpriority=\(networks.count - index)
                \tid_str="seen=\(network.lastSeen) signal=\(network.lastSignal)"
                }

                """
        }
    }

    private static func parse(_ bytes: [UInt8]) -> [Network] {
        var networks: [Network] = []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            if line == "network={" {
                networks.append(Network(ssid: "", passphrase: "", psk: [], lastSeen: 0, lastSignal: 0))
            }
            guard let equals = line.firstIndex(of: "="), !networks.isEmpty else { continue }
            let value = line[line.index(after: equals)...].trimming("\"")
            let last = networks.count - 1
            switch line[..<equals] {
            case "\tssid": networks[last].ssid = String(value)
            case "\tpsk": networks[last].passphrase = String(value)
            case "\tid_str":
                let numbers = value.split { $0 == " " || $0 == "=" }.compactMap { Int($0) }
                guard numbers.count == 2 else { continue }
                networks[last].lastSeen = UInt32(clamping: numbers[0])
                networks[last].lastSignal = Int8(clamping: numbers[1])
            default: continue
            }
        }
        return networks
    }
}

extension Substring {
    /// Without this character at the beginning and at the end.
    fileprivate func trimming(_ character: Character) -> Substring {
        guard count >= 2, first == character, last == character else { return self }
        return dropFirst().dropLast()
    }
}
