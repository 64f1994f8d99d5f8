import AgentModel
import Crypto

/// Minimum security learned for the networks of an SSID, with its day counts (Docs/contributor/security-floor.md).
public struct LearnedMinimumSecurity: Sendable, Hashable {
    /// Number of days with SAE or PMF until it is learned, and of days without until it is forgotten.
    public static let days: UInt8 = 3

    /// Days on which links had SAE, 0 to `days`.
    public private(set) var sae: UInt8 = 0
    /// Days on which links had protected management frames, 0 to `days`.
    public private(set) var pmf: UInt8 = 0
    /// Consecutive days on which visible verified access points offered less than learned. Always less than `days`.
    public private(set) var below: UInt8 = 0

    public init() {}

    /// Learned protection that a link must have.
    public var protection: LinkProtection {
        var learned: LinkProtection = []
        if sae == Self.days { learned.insert(.sae) }
        if pmf == Self.days { learned.insert(.pmf) }
        return learned
    }

    /// Counts a day on which a link had `protection`.
    public mutating func countLink(with protection: LinkProtection) {
        if protection.contains(.sae) { sae = min(sae + 1, Self.days) }
        if protection.contains(.pmf) { pmf = min(pmf + 1, Self.days) }
        below = 0
    }

    /// Resets the counts of protections that `protection` lacks, after a link or verified access point without them.
    /// Learned protections stay.
    public mutating func restart(at protection: LinkProtection) {
        if sae < Self.days, !protection.contains(.sae) { sae = 0 }
        if pmf < Self.days, !protection.contains(.pmf) { pmf = 0 }
    }

    /// Counts a day on which visible verified access points offered less than learned. After `days` such days, resets
    /// all counts.
    public mutating func countBelow() {
        guard !protection.isEmpty else { return }
        below += 1
        if below >= Self.days { self = LearnedMinimumSecurity() }
    }

    /// Resets `below`, because a visible verified access point offers the learned protection.
    public mutating func met() { below = 0 }
}

extension LearnedMinimumSecurity {
    /// The counts in bits: 0 and 1 for days of SAE, 2 and 3 for protected management frames, 4 and 5 for `below`.
    var code: UInt8 { sae | pmf << 2 | below << 4 }

    /// - Returns: nil for impossible counts.
    init?(code: UInt8) {
        self.init()
        (sae, pmf, below) = (code & 3, code >> 2 & 3, code >> 4)
        guard code > 0, below < Self.days, below == 0 || !protection.isEmpty else { return nil }
    }
}

// All networks share one cell, with 5 bytes for each SSID, so that the largest state fits in a sector.
extension StoredState {
    private static let nameLength = 4
    static let maximumLearnedMinimumSecurity = 5

    /// Returns the name of an SSID in the cell: the first bytes of its SHA-256.
    private static func name(of ssid: SSID) -> [UInt8] { Array(SHA256.hash(data: ssid.bytes).prefix(nameLength)) }

    /// SSIDs of networks with a credential. Only these have a learned minimum security.
    private var protectedNames: Set<SSID> { Set(networks.lazy.filter { $0.credential != .none }.map(\.ssid)) }

    /// Removes empty entries, and those beyond the maximum number.
    mutating func limitLearnedMinimumSecurity() {
        let names = protectedNames
        var left = Self.maximumLearnedMinimumSecurity
        var seen: Set<SSID> = []
        for ssid in networks.map(\.ssid) where seen.insert(ssid).inserted {
            guard let minimumSecurity = statistics[ssid]?.learnedMinimumSecurity else { continue }
            if left > 0, minimumSecurity != LearnedMinimumSecurity(), names.contains(ssid) {
                left -= 1
            } else {
                statistics[ssid]?.learnedMinimumSecurity = nil
            }
        }
    }

    func learnedMinimumSecurityCells() -> Cells {
        let entries = statistics.compactMap { ssid, known in
            known.learnedMinimumSecurity.map { Self.name(of: ssid) + [$0.code] }
        }
        guard !entries.isEmpty else { return [:] }
        let sorted = entries.sorted { $0.lexicographicallyPrecedes($1) }
        return [CellID(.learnedMinimumSecurity): Secret(sorted.flatMap(\.self))]
    }

    mutating func readLearnedMinimumSecurity(_ cells: Cells) {
        let learned = cells[CellID(.learnedMinimumSecurity)]?.withBytes { bytes in
            var reader = ByteReader(bytes)
            var learned: [[UInt8]: LearnedMinimumSecurity] = [:]
            while let name = reader.bytes(Self.nameLength).map(Array.init), let code = reader.integer(UInt8.self) {
                learned[name] = LearnedMinimumSecurity(code: code)
            }
            return learned
        }
        guard let learned, !learned.isEmpty else { return }
        for ssid in protectedNames {
            guard let minimumSecurity = learned[Self.name(of: ssid)] else { continue }
            statistics[ssid, default: NetworkStatistics()].learnedMinimumSecurity = minimumSecurity
        }
    }
}
