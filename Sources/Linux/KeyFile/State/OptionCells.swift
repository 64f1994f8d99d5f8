import AgentModel

/// Options of a network. An older altnet keeps the cell and does not read it.
struct OptionCell: CellContent {
    let network: NetworkMark
    let options: NetworkOptions

    /// Encodes network and flags. The access point and the IPv6 address follow if the network has either.
    var cell: Secret {
        Secret(
            upTo: 1 + SSID.maximumLength + 1 + NetworkMark.keyLength + 1 + 1 + 6 + 1 + StaticAddress.maximumEncoding
        ) { cell in
            cell.append(counted: network.ssid.bytes)
            cell.append(counted: network.key)
            cell.append(options.flags.rawValue)
            guard options.bssid != nil || options.ipv6 != nil else { return }
            cell.append(counted: options.bssid?.bytes ?? [])
            cell.append(counted: options.ipv6?.encoded ?? [])
        }
    }

    init(network: NetworkMark, options: NetworkOptions) { (self.network, self.options) = (network, options) }

    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let network = NetworkMark(&reader), let flags = reader.integer(UInt8.self),
            var options = NetworkOptions(OptionFlags(rawValue: flags))
        else { return nil }
        if !reader.isAtEnd {
            guard let bssid = reader.counted(), let ipv6 = reader.counted(), !bssid.isEmpty || !ipv6.isEmpty,
                reader.isAtEnd
            else { return nil }
            if !bssid.isEmpty {
                guard let bssid = BSSID(bytes: bssid), bssid.isUnicast else { return nil }
                options.bssid = bssid
            }
            if !ipv6.isEmpty {
                var part = ByteReader(ipv6)
                guard let address = part.staticAddress(of: .ipv6) else { return nil }
                options.ipv6 = address
            }
        }
        guard !options.isEmpty else { return nil }
        self.init(network: network, options: options)
    }
}

/// Options of one bit each in a stored cell.
struct OptionFlags: OptionSet {
    let rawValue: UInt8

    static let allowsTKIP = OptionFlags(rawValue: 1)
    static let isManual = OptionFlags(rawValue: 2)
    static let isMetered = OptionFlags(rawValue: 4)
    static let isNotMetered = OptionFlags(rawValue: 8)

    /// Flag of the only band. The highest bit is unused.
    static func only(_ band: Band) -> OptionFlags {
        switch band {
        case .twoPointFour: OptionFlags(rawValue: 16)
        case .five: OptionFlags(rawValue: 32)
        case .six: OptionFlags(rawValue: 64)
        }
    }
}

extension NetworkOptions {
    fileprivate var flags: OptionFlags {
        var flags: OptionFlags = []
        if allowsTKIP { flags.insert(.allowsTKIP) }
        if isManual { flags.insert(.isManual) }
        if let isMetered { flags.insert(isMetered ? .isMetered : .isNotMetered) }
        if let band { flags.insert(.only(band)) }
        return flags
    }

    /// Nil if two flags contradict each other, or one is unknown.
    fileprivate init?(_ flags: OptionFlags) {
        self.init(
            allowsTKIP: flags.contains(.allowsTKIP), isManual: flags.contains(.isManual),
            isMetered: flags.contains(.isMetered) ? true : flags.contains(.isNotMetered) ? false : nil,
            band: Band.allCases.first { flags.contains(.only($0)) })
        guard self.flags == flags else { return nil }
    }
}

extension StoredState {
    func optionCells(keepingSlotsOf old: Cells) -> Cells {
        let chosen = networks.filter { !$0.options.isEmpty }
        let options = Dictionary(chosen.map { (NetworkMark($0), $0.options) }) { first, _ in first }
        let marks = Slots(
            of: chosen.map { NetworkMark($0) }, keeping: old.values(of: .options) { OptionCell(cell: $0)?.network })
        return marks.values.reduce(into: [:]) { cells, entry in
            cells[CellID(.options, slot: entry.key)] = options[entry.value].map {
                OptionCell(network: entry.value, options: $0).cell
            }
        }
    }

    /// Reads valid options of stored networks.
    mutating func readOptions(_ cells: Cells) {
        var seen: Set<NetworkMark> = []
        for (_, content) in cells.values(of: .options, OptionCell.init(cell:)).sorted(by: { $0.key < $1.key })
        where seen.insert(content.network).inserted {
            changeNetworks { network in
                if NetworkMark(network) == content.network { network.options = content.options }
            }
        }
    }
}
