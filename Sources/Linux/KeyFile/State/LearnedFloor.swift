import AgentModel
import Crypto

/// The security floor that the device has learned of the networks of one name, and the days that speak for it.
/// Docs/failover.md has the rule.
public struct LearnedFloor: Sendable, Hashable {
    /// SAE and PMF are learned after so many days with them, and forgotten after so many days below them.
    public static let days: UInt8 = 3

    /// Days on which links had SAE, 0 to `days`.
    public private(set) var sae: UInt8 = 0
    /// Days on which links had protected management frames, 0 to `days`.
    public private(set) var pmf: UInt8 = 0
    /// Days in a row on which the verified access points in sight had less, fewer than `days`.
    public private(set) var below: UInt8 = 0

    public init() {}

    /// The protection that a link must have by now.
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

    /// Begins to count anew where a link, or a verified access point in sight, has no more than `protection`. What is
    /// learned already stays.
    public mutating func restart(at protection: LinkProtection) {
        if sae < Self.days, !protection.contains(.sae) { sae = 0 }
        if pmf < Self.days, !protection.contains(.pmf) { pmf = 0 }
    }

    /// Counts a day on which the verified access points in sight had less. After the last one nothing is left.
    public mutating func countBelow() {
        guard !protection.isEmpty else { return }
        below += 1
        if below >= Self.days { self = LearnedFloor() }
    }

    /// A verified access point in sight has as much.
    public mutating func met() { below = 0 }
}

extension LearnedFloor {
    /// SAE's days in bits 0 and 1, those of protected management frames in bits 2 and 3, those below in bits 4 and 5.
    var code: UInt8 { sae | pmf << 2 | below << 4 }

    /// - Returns: nil for days that are never counted.
    init?(code: UInt8) {
        self.init()
        (sae, pmf, below) = (code & 3, code >> 2 & 3, code >> 4)
        guard code > 0, below < Self.days, below == 0 || !protection.isEmpty else { return nil }
    }
}

// All of them are in one cell, a few bytes each, so that the largest state still fits into a sector.
extension StoredState {
    private static let nameLength = 4
    static let maximumLearnedFloors = 5

    /// A network's name in the cell: the first bytes of the SHA-256 of its SSID.
    private static func name(of ssid: SSID) -> [UInt8] { Array(SHA256.hash(data: ssid.bytes).prefix(nameLength)) }

    /// The names of networks with a credential. Nothing is learned of others.
    private var protectedNames: Set<SSID> { Set(networks.lazy.filter { $0.credential != .none }.map(\.ssid)) }

    /// Removes floors that say nothing, and all but those of the first networks.
    mutating func limitLearnedFloors() {
        let names = protectedNames
        var left = Self.maximumLearnedFloors
        var seen: Set<SSID> = []
        for ssid in networks.map(\.ssid) where seen.insert(ssid).inserted {
            guard let floor = statistics[ssid]?.learnedFloor else { continue }
            if left > 0, floor != LearnedFloor(), names.contains(ssid) {
                left -= 1
            } else {
                statistics[ssid]?.learnedFloor = nil
            }
        }
    }

    /// The cell of a normalised state, by name.
    func learnedFloorCells() -> Cells {
        let entries = statistics.compactMap { ssid, known in known.learnedFloor.map { Self.name(of: ssid) + [$0.code] }
        }
        guard !entries.isEmpty else { return [:] }
        let sorted = entries.sorted { $0.lexicographicallyPrecedes($1) }
        return [CellID(.learnedFloors): Secret(sorted.flatMap(\.self))]
    }

    mutating func readLearnedFloors(_ cells: Cells) {
        let learned = cells[CellID(.learnedFloors)]?.withBytes { bytes in
            var reader = ByteReader(bytes)
            var learned: [[UInt8]: LearnedFloor] = [:]
            while let name = reader.bytes(Self.nameLength).map(Array.init), let code = reader.integer(UInt8.self) {
                learned[name] = LearnedFloor(code: code)
            }
            return learned
        }
        guard let learned, !learned.isEmpty else { return }
        for ssid in protectedNames {
            guard let floor = learned[Self.name(of: ssid)] else { continue }
            statistics[ssid, default: NetworkStatistics()].learnedFloor = floor
        }
    }
}
