import AgentModel

/// Options of a network. An older altnet keeps the cell and does not read it.
struct OptionCell: CellContent {
    let network: NetworkMark
    let options: NetworkOptions

    /// Encodes network and options.
    var cell: Secret {
        Secret(upTo: 1 + SSID.maximumLength + 1 + NetworkMark.keyLength + 1) { cell in
            cell.append(counted: network.ssid.bytes)
            cell.append(counted: network.key)
            cell.append(options.rawValue)
        }
    }

    init(network: NetworkMark, options: NetworkOptions) { (self.network, self.options) = (network, options) }

    /// Keeps bits that this altnet does not know.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let network = NetworkMark(&reader), let options = reader.integer(UInt8.self), options != 0,
            reader.isAtEnd
        else { return nil }
        self.init(network: network, options: NetworkOptions(rawValue: options))
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
