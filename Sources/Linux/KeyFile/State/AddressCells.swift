import AgentModel

// Addresses of networks have their own cell kinds. An older altnet keeps these cells but may move or remove networks,
// so each cell names its network.

/// Identifies a network in other cells: its SSID and the start of its derived key, because networks may share an SSID.
/// An enterprise network uses its stand-in's key.
struct NetworkMark: Hashable {
    let ssid: SSID
    /// First `keyLength` bytes of the derived key; empty without a password.
    let key: [UInt8]

    static let keyLength = 4

    init(_ network: StoredNetwork) {
        ssid = network.ssid
        key =
            switch network.credential {
            case .none: []
            case .passphrase(_, let psk): psk.withBytes { Array($0.prefix(Self.keyLength)) }
            case .enterprise(let credential): credential.digest.withBytes { Array($0.prefix(Self.keyLength)) }
            }
    }

    init?(_ reader: inout ByteReader) {
        guard let name = reader.counted(), let ssid = try? SSID(bytes: name), let key = reader.counted(),
            key.isEmpty || key.count == Self.keyLength
        else { return nil }
        (self.ssid, self.key) = (ssid, Array(key))
    }
}

struct AddressCell: CellContent {
    let network: NetworkMark
    let address: StaticAddress

    /// Encodes network and address.
    var cell: Secret {
        Secret(upTo: 1 + SSID.maximumLength + 1 + NetworkMark.keyLength + StaticAddress.maximumEncoding) { cell in
            cell.append(counted: network.ssid.bytes)
            cell.append(counted: network.key)
            cell.append(address.encoded)
        }
    }

    init(network: NetworkMark, address: StaticAddress) { (self.network, self.address) = (network, address) }

    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let network = NetworkMark(&reader), let address = reader.staticAddress(of: .ipv4) else { return nil }
        self.init(network: network, address: address)
    }
}

extension StaticAddress {
    /// Largest number of bytes in ``encoded``.
    static let maximumEncoding = 16 + 1 + (1 + maximumServers) * (1 + 16)

    /// Address, prefix length, counted gateway and counted name servers.
    var encoded: [UInt8] {
        let counted = [gateway?.bytes ?? []] + nameServers.map(\.bytes)
        return address.bytes + [UInt8(clamping: prefixLength)] + counted.flatMap { [UInt8(clamping: $0.count)] + $0 }
    }
}

extension ByteReader {
    /// Reads a static address, up to the end. Nil for an invalid one.
    mutating func staticAddress(of family: AddressFamily) -> StaticAddress? {
        guard let address = bytes(family.byteCount).flatMap({ IPAddress(bytes: $0) }),
            let prefixLength = integer(UInt8.self), let gateway = countedAddress()
        else { return nil }
        var servers: [IPAddress] = []
        while !isAtEnd {
            guard let server = countedAddress().flatMap(\.self) else { return nil }
            servers.append(server)
        }
        return try? StaticAddress(
            address: address, prefixLength: Int(prefixLength), family: family, gateway: gateway, nameServers: servers)
    }
}

/// Lease shared by all networks of an SSID.
struct LeaseCell: CellContent {
    let ssid: SSID
    let lease: StoredLease

    /// Encodes SSID, hardware address, address, prefix length, server, expiry, gateway, the gateway's hardware address
    /// and name servers.
    var cell: Secret {
        Secret(upTo: 1 + SSID.maximumLength + 6 + 4 + 1 + 4 + 4 + 5 + 7 + StoredLease.maximumServers * 4) { cell in
            cell.append(counted: ssid.bytes)
            cell.append(lease.hardware.bytes)
            cell.append(lease.address.bytes)
            cell.append(UInt8(clamping: lease.prefixLength))
            cell.append(lease.server.bytes)
            cell.append(bigEndian: lease.expiry)
            cell.append(counted: lease.gateway?.bytes ?? [])
            cell.append(counted: lease.gatewayHardware?.bytes ?? [])
            for server in lease.nameServers { cell.append(server.bytes) }
        }
    }

    init(ssid: SSID, lease: StoredLease) { (self.ssid, self.lease) = (ssid, lease) }

    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let name = reader.counted(), let ssid = try? SSID(bytes: name),
            let hardware = reader.bytes(6).flatMap({ HardwareAddress(bytes: $0) }), let address = reader.address(),
            let prefixLength = reader.integer(UInt8.self), let server = reader.address(),
            let expiry = reader.integer(UInt32.self), let gateway = reader.countedAddress(),
            let counted = reader.counted()
        else { return nil }
        let gatewayHardware = HardwareAddress(bytes: counted)
        guard counted.isEmpty || gatewayHardware != nil else { return nil }
        var servers: [IPAddress] = []
        while !reader.isAtEnd {
            guard let server = reader.address() else { return nil }
            servers.append(server)
        }
        let lease = StoredLease(
            address: address, prefixLength: Int(prefixLength), gateway: gateway, gatewayHardware: gatewayHardware,
            server: server, hardware: hardware, nameServers: servers, expiry: expiry)
        guard lease.normalised == lease else { return nil }
        self.init(ssid: ssid, lease: lease)
    }
}

extension ByteReader {
    fileprivate mutating func address() -> IPAddress? { bytes(4).flatMap { IPAddress(bytes: $0) } }

    /// Reads a length byte and an address. Length 0 means no address.
    fileprivate mutating func countedAddress() -> IPAddress?? {
        guard let bytes = counted() else { return nil }
        guard !bytes.isEmpty else { return .some(nil) }
        // Reject IPv4-mapped addresses, whose length differs.
        guard let address = IPAddress(bytes: bytes), address.bytes.count == bytes.count else { return nil }
        return address
    }
}

extension StoredLease {
    /// The lease without invalid name servers; nil if the lease is invalid.
    var normalised: StoredLease? {
        guard (try? StaticAddress(address: address, prefixLength: prefixLength)) != nil,
            address.isIPv4, server.isIPv4, server.isHost, hardware.isInterface,
            gateway.map({ $0.isIPv4 && $0.isHost && $0 != address }) ?? true,
            gatewayHardware.map({ gateway != nil && $0.isInterface }) ?? true
        else { return nil }
        var lease = self
        lease.nameServers = Array(nameServers.filter { $0.isIPv4 && $0.isHost }.prefix(Self.maximumServers))
        return lease
    }
}

extension StoredState {
    /// Maximum number of stored leases. Those of the first networks are kept, which is enough for the usual number of
    /// backups. The owner does not set leases, so they must not fill the store.
    static let maximumLeases = 8

    /// Gives all copies of a network the static address and the options of the first one.
    mutating func shareOwnerSettings() {
        let ordered =
            [home, chosen].compactMap(\.self) + backups + [pendingSwitch?.target, current, previous].compactMap(\.self)
        guard ordered.contains(where: { $0.staticAddress != nil || !$0.options.isEmpty }) else { return }
        let firsts = Dictionary(ordered.map { (NetworkMark($0), $0) }) { first, _ in first }
        changeNetworks { network in
            guard let first = firsts[NetworkMark(network)] else { return }
            (network.staticAddress, network.options) = (first.staticAddress, first.options)
        }
    }

    /// Removes invalid and excess leases.
    mutating func limitLeases() {
        var left = Self.maximumLeases
        var seen: Set<SSID> = []
        for ssid in networks.map(\.ssid) where seen.insert(ssid).inserted {
            guard let lease = statistics[ssid]?.lease else { continue }
            statistics[ssid]?.lease = left > 0 ? lease.normalised : nil
            if statistics[ssid]?.lease != nil { left -= 1 }
        }
    }

    func addressCells(keepingSlotsOf old: Cells) -> Cells {
        var cells: Cells = [:]
        let addresses = Dictionary(
            networks.compactMap { network in network.staticAddress.map { (NetworkMark(network), $0) } }
        ) { first, _ in first }
        let marks = Slots(
            of: networks.filter { $0.staticAddress != nil }.map { NetworkMark($0) },
            keeping: old.values(of: .address) { AddressCell(cell: $0)?.network })
        for (slot, mark) in marks.values {
            cells[CellID(.address, slot: slot)] = addresses[mark].map { AddressCell(network: mark, address: $0).cell }
        }
        let names = Slots(
            of: networks.map(\.ssid).filter { statistics[$0]?.lease != nil },
            keeping: old.values(of: .lease) { LeaseCell(cell: $0)?.ssid })
        for (slot, ssid) in names.values {
            cells[CellID(.lease, slot: slot)] = statistics[ssid]?.lease.map { LeaseCell(ssid: ssid, lease: $0).cell }
        }
        return cells
    }

    /// Reads valid addresses and leases of stored networks.
    mutating func readAddresses(_ cells: Cells) {
        let stored = networks
        var seen: Set<NetworkMark> = []
        for (_, content) in cells.values(of: .address, AddressCell.init(cell:)).sorted(by: { $0.key < $1.key })
        where seen.insert(content.network).inserted {
            changeNetworks { network in
                if NetworkMark(network) == content.network { network.staticAddress = content.address }
            }
        }
        for (_, content) in cells.values(of: .lease, LeaseCell.init(cell:)).sorted(by: { $0.key < $1.key })
        where stored.contains(where: { $0.ssid == content.ssid }) && statistics[content.ssid]?.lease == nil {
            statistics[content.ssid, default: NetworkStatistics()].lease = content.lease
        }
    }
}
