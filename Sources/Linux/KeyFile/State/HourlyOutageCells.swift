import AgentModel

/// Expected outage of a network by hour of the day.
public struct HourlyOutageRecord: Sendable, Equatable {
    /// Day of the last update, in days since 1970, UTC.
    public var day: UInt16
    /// Expected seconds of outage for each of the 24 hours, UTC; 255 means 255 or more.
    public var seconds: [UInt8]

    public init(day: UInt16, seconds: [UInt8]) { (self.day, self.seconds) = (day, seconds) }

    static let hours = 24

    /// This record; nil if all hours are 0 or their number is not 24.
    var normalised: HourlyOutageRecord? { seconds.count == Self.hours && seconds.contains { $0 > 0 } ? self : nil }
}

/// Hourly outage shared by all networks of an SSID. An older altnet keeps the cell but may remove the network, so the
/// cell has the SSID.
struct HourlyOutageCell: CellContent {
    let ssid: SSID
    let losses: HourlyOutageRecord

    /// Encodes SSID, day, and the seconds of each hour.
    var cell: Secret {
        Secret(upTo: 1 + SSID.maximumLength + 2 + HourlyOutageRecord.hours) { cell in
            cell.append(counted: ssid.bytes)
            cell.append(bigEndian: losses.day)
            cell.append(losses.seconds)
        }
    }

    init(ssid: SSID, losses: HourlyOutageRecord) { (self.ssid, self.losses) = (ssid, losses) }

    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let name = reader.counted(), let ssid = try? SSID(bytes: name), let day = reader.integer(UInt16.self),
            let seconds = reader.bytes(HourlyOutageRecord.hours).map(Array.init), reader.isAtEnd,
            let losses = HourlyOutageRecord(day: day, seconds: seconds).normalised
        else { return nil }
        self.init(ssid: ssid, losses: losses)
    }
}

extension StoredState {
    /// SSIDs of the home and the chosen network. Only their hourly outages are stored.
    private var belongings: [SSID] { [home, chosen].compactMap(\.?.ssid) }

    /// Removes empty hourly outages, and those of networks other than home and chosen.
    mutating func limitLosses() {
        let names = belongings
        for (ssid, known) in statistics where known.hourlyOutage != nil {
            statistics[ssid]?.hourlyOutage = names.contains(ssid) ? known.hourlyOutage?.normalised : nil
        }
    }

    func lossCells(keepingSlotsOf old: Cells) -> Cells {
        let names = Slots(
            of: belongings.filter { statistics[$0]?.hourlyOutage != nil },
            keeping: old.values(of: .losses) { HourlyOutageCell(cell: $0)?.ssid })
        return names.values.reduce(into: [:]) { cells, name in
            cells[CellID(.losses, slot: name.key)] = statistics[name.value]?.hourlyOutage.map {
                HourlyOutageCell(ssid: name.value, losses: $0).cell
            }
        }
    }

    /// Reads the hourly outages of the home and the chosen network.
    mutating func readLosses(_ cells: Cells) {
        let names = belongings
        for (_, content) in cells.values(of: .losses, HourlyOutageCell.init(cell:)).sorted(by: { $0.key < $1.key })
        where names.contains(content.ssid) && statistics[content.ssid]?.hourlyOutage == nil {
            statistics[content.ssid, default: NetworkStatistics()].hourlyOutage = content.losses
        }
    }
}
