import AgentModel

/// The losses of a network by hour of the day, as the policy has learnt them.
public struct StoredLosses: Sendable, Equatable {
    /// Days since 1970, UTC: the one for which it holds.
    public var day: UInt16
    /// By hour of the day, UTC: seconds of outage that are expected then, 255 for that and more. 24 of them.
    public var seconds: [UInt8]

    public init(day: UInt16, seconds: [UInt8]) { (self.day, self.seconds) = (day, seconds) }

    static let hours = 24

    /// Nil where it says nothing, or is not of 24 hours.
    var normalised: StoredLosses? { seconds.count == Self.hours && seconds.contains { $0 > 0 } ? self : nil }
}

/// The losses of the networks of one name. Kept by an altnet that does not know them, so it names its network itself.
struct LossCell {
    let ssid: SSID
    let losses: StoredLosses

    /// SSID, day, and the seconds of each hour.
    var cell: Secret {
        Secret(upTo: 1 + SSID.maximumLength + 2 + StoredLosses.hours) { cell in
            cell.append(counted: ssid.bytes)
            cell.append(bigEndian: losses.day)
            cell.append(losses.seconds)
        }
    }

    init(ssid: SSID, losses: StoredLosses) { (self.ssid, self.losses) = (ssid, losses) }

    init?(cell: Secret) {
        guard let content = cell.withBytes({ LossCell($0) }) else { return nil }
        self = content
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let name = reader.counted(), let ssid = try? SSID(bytes: name), let day = reader.integer(UInt16.self),
            let seconds = reader.bytes(StoredLosses.hours).map(Array.init), reader.isAtEnd,
            let losses = StoredLosses(day: day, seconds: seconds).normalised
        else { return nil }
        self.init(ssid: ssid, losses: losses)
    }
}

extension StoredState {
    /// The networks that the device may belong in: for these alone losses are stored.
    private var belongings: [SSID] { [home, chosen].compactMap(\.?.ssid) }

    /// Removes losses that say nothing, or that are of networks in which the device does not belong.
    mutating func limitLosses() {
        let names = belongings
        for (ssid, known) in statistics where known.losses != nil {
            statistics[ssid]?.losses = names.contains(ssid) ? known.losses?.normalised : nil
        }
    }

    /// The cells of the losses of a normalised state.
    func lossCells(keepingSlotsOf old: Cells) -> Cells {
        let names = Slots(
            of: belongings.filter { statistics[$0]?.losses != nil },
            keeping: old.values(of: .losses) { LossCell(cell: $0)?.ssid })
        return names.values.reduce(into: [:]) { cells, name in
            cells[CellID(.losses, slot: name.key)] = statistics[name.value]?.losses.map {
                LossCell(ssid: name.value, losses: $0).cell
            }
        }
    }

    /// Takes losses over, as far as they belong to a network that is stored.
    mutating func readLosses(_ cells: Cells) {
        let names = belongings
        for (_, content) in cells.values(of: .losses, LossCell.init(cell:)).sorted(by: { $0.key < $1.key })
        where names.contains(content.ssid) && statistics[content.ssid]?.losses == nil {
            statistics[content.ssid, default: NetworkStatistics()].losses = content.losses
        }
    }
}
