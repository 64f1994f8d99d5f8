import Randomness

/// A network, as every contestant keeps it.
struct Network {
    var ssid: String
    var passphrase: String
    var psk: [UInt8]
    /// In seconds since 1970.
    var lastSeen: UInt32
    /// In dBm.
    var lastSignal: Int8
}

/// The kinds of update that a device makes.
enum UpdateKind: String, CaseIterable, Codable {
    /// One network gets another password.
    case password
    /// The app's list replaces the old one.
    case list
    /// A network was seen again.
    case statistics
}

/// One update. A network is named by its index: 0 is the home network, the others are the list, in order.
enum Change {
    case password(of: Int, passphrase: String, psk: [UInt8])
    case list([Network])
    case statistics(of: Int, lastSeen: UInt32, lastSignal: Int8)

    func apply(to networks: inout [Network]) {
        switch self {
        case .password(let index, let passphrase, let psk):
            networks[index].passphrase = passphrase
            networks[index].psk = psk
        case .list(let backups): networks.replaceSubrange(1..., with: backups)
        case .statistics(let index, let lastSeen, let lastSignal):
            networks[index].lastSeen = lastSeen
            networks[index].lastSignal = lastSignal
        }
    }
}

/// The same updates for each contestant.
struct Workload {
    /// The state before the first update.
    let networks: [Network]
    private let backupCount: Int
    private var random = SeededRandom(seed: 1)
    private var clock: UInt32 = 1_760_000_000

    init(backupCount: Int) {
        self.backupCount = backupCount
        var names = random
        let now = clock
        networks = (0...backupCount).map { _ in Network(seenAt: now, using: &names) }
        random = names
    }

    mutating func next(_ kind: UpdateKind) -> Change {
        clock += 600
        let index = Int.random(in: 1...backupCount, using: &random)
        switch kind {
        case .password:
            let other = Network(seenAt: clock, using: &random)
            return .password(of: index, passphrase: other.passphrase, psk: other.psk)
        case .list: return .list((0..<backupCount).map { _ in Network(seenAt: clock, using: &random) })
        case .statistics:
            return .statistics(of: index, lastSeen: clock, lastSignal: .random(in: -90 ... -30, using: &random))
        }
    }
}

extension Network {
    fileprivate init(seenAt time: UInt32, using random: inout SeededRandom) {
        self.init(
            ssid: "FRITZ!Box " + Self.letters(6, using: &random), passphrase: Self.letters(20, using: &random),
            psk: (0..<32).map { _ in .random(in: .min ... .max, using: &random) }, lastSeen: time,
            lastSignal: .random(in: -90 ... -30, using: &random))
    }

    private static func letters(_ count: Int, using random: inout SeededRandom) -> String {
        String((0..<count).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &random) ?? "x" })
    }
}
