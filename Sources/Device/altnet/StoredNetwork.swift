import AgentModel
import AppProtocol

extension BackupList {
    /// The stored network that a person named by its SSID, its hash, or the hash's first six characters or more.
    /// - Throws: `CommandFailure` if there is none, or more than one.
    func network(named name: String) throws(CommandFailure) -> BackupNetwork {
        let ssid = SSIDArgument(argument: name)?.ssid
        let bySSID = networks.filter { $0.ssid == ssid }
        let found = bySSID.isEmpty ? networks.filter { name.count >= 6 && $0.hash.base64.hasPrefix(name) } : bySSID
        switch found.count {
        case 1: return found[0]
        case 0:
            throw CommandFailure(
                .badData, "no stored network is named \(name.printable): 'altnet backups list' shows them")
        default:
            let hashes = found.map { String($0.hash.base64.prefix(8)) }.joined(separator: ", ")
            throw CommandFailure(
                .badData, "several stored networks are named \(name.printable): name one by its hash, \(hashes)")
        }
    }
}
