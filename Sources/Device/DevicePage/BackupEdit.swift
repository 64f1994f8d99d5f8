import AgentModel
import AppProtocol

/// A change of the list of backups, from a form.
enum BackupEdit: Sendable, Equatable {
    /// Stores a network at the end of the list, or in the place of the one with its name.
    case add(NewNetwork)
    /// Tries a network earlier (-1) or later (1) than its neighbour in the list.
    case move(NetworkHash, by: Int)
    case remove(NetworkHash)
    case change(NetworkHash, NetworkOptions.Change)

    /// - Throws: `InvalidEdit` for values that the device's forms never contain, or an invalid address.
    init(_ form: Form) throws(InvalidEdit) {
        guard let hash = form.text("hash").flatMap({ NetworkHash(base64: $0) }) else {
            throw InvalidEdit(.errorNetwork)
        }
        switch form.text("do") {
        case "up": self = .move(hash, by: -1)
        case "down": self = .move(hash, by: 1)
        case "remove": self = .remove(hash)
        case "options": self = .change(hash, try NetworkOptions.Change(form))
        default: throw InvalidEdit(.errorRefused)
        }
    }

    /// - Parameter name: name of a network in requests.
    /// - Returns: nil if the list has no such network.
    func update(of list: BackupList, named name: (NetworkHash) -> NetworkHash) -> BackupsUpdate? {
        var networks = list.networks.map { NetworkReference.stored(name($0.hash)) }
        func position(_ hash: NetworkHash) -> Int? { networks.firstIndex(of: .stored(hash)) }
        var options: [NetworkHash: NetworkOptions.Change] = [:]
        switch self {
        case .add(let network):
            if let place = list.networks.firstIndex(where: { $0.ssid == network.ssid }) {
                let stored = list.networks[place]
                networks[place] = .new(
                    NewNetwork(
                        ssid: network.ssid, credential: network.credential, security: network.security,
                        isHidden: stored.isHidden || network.isHidden, address: stored.address,
                        options: stored.options))
            } else {
                networks.append(.new(network))
            }
        case .move(let hash, let step):
            guard let place = position(hash), networks.indices.contains(place + step) else { return nil }
            networks.swapAt(place, place + step)
        case .remove(let hash):
            guard let place = position(hash) else { return nil }
            networks.remove(at: place)
        case .change(let hash, let change):
            guard position(hash) != nil else { return nil }
            options[hash] = change
        }
        return BackupsUpdate(networks: networks, ifRevision: list.revision, options: options)
    }
}

struct InvalidEdit: Error {
    let phrase: Phrase

    init(_ phrase: Phrase) { self.phrase = phrase }
}

extension NetworkOptions.Change {
    /// Reads the options that a form has. Fields: `manual`, `metered`, `band`, `bssid`, `tkip`.
    fileprivate init(_ form: Form) throws(InvalidEdit) {
        func flag(_ name: String) -> Bool? { form.text(name).map { $0 == "yes" } }
        self.init(allowsTKIP: flag("tkip"), isAutomatic: flag("manual").map { !$0 })
        if let text = form.text("metered") { isMetered = text.isEmpty ? .unset : .to(text == "yes") }
        if let text = form.text("band") { band = Band(rawValue: text).map { .to($0) } ?? .unset }
        if let text = form.text("bssid") {
            guard let address = BSSID(text) else {
                guard text.isEmpty else { throw InvalidEdit(.errorAccessPoint) }
                bssid = .unset
                return
            }
            bssid = .to(address)
        }
    }
}
