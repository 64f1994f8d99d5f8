import AgentModel

/// What an owner chooses about the client.
public struct DHCPSettings: Sendable, Hashable {
    public var identifier = ClientIdentifier.hardware
    /// Sent to the server, which may give the device this name in its zone. Nil: the device tells no name.
    public var hostName: HostName?
    /// Says as little about the device as RFC 7844 asks for. For hardware addresses that are made up for a network.
    public var isAnonymous: Bool

    public init(
        identifier: ClientIdentifier = .hardware, hostName: HostName? = nil, isAnonymous: Bool = false
    ) {
        (self.identifier, self.hostName, self.isAnonymous) = (identifier, hostName, isAnonymous)
    }
}

/// How the device says which client it is (option 61; RFC 2132, 9.14).
public struct ClientIdentifier: Sendable, Hashable {
    private let value: [UInt8]?

    private init(_ value: [UInt8]?) { self.value = value }

    /// The hardware address with its type, as most servers expect it.
    public static let hardware = ClientIdentifier(nil)

    /// - Parameter text: 1 to 254 bytes of UTF-8.
    /// - Returns: nil for other lengths.
    public static func text(_ text: String) -> ClientIdentifier? {
        guard (1...254).contains(text.utf8.count) else { return nil }
        return ClientIdentifier([0] + Array(text.utf8))
    }

    /// An identifier that DHCPv6 uses too (RFC 4361, 6.1).
    /// - Parameters:
    ///   - association: IAID, a number for the interface.
    ///   - device: DUID, 3 to 130 bytes (RFC 8415, 11.1).
    /// - Returns: nil for other lengths.
    public static func unique(association: UInt32, device: [UInt8]) -> ClientIdentifier? {
        guard (3...130).contains(device.count) else { return nil }
        return ClientIdentifier([255] + association.bytes + device)
    }

    /// Whether another hardware address makes another client of the device.
    var isHardware: Bool { value == nil }

    func bytes(for hardware: HardwareAddress) -> [UInt8] { value ?? [1] + hardware.bytes }

    /// DUID and IAID of DHCPv6: those of ``unique(association:device:)``, else made of the hardware address
    /// (DUID-LL, RFC 8415, 11.4).
    func device(for hardware: HardwareAddress) -> (device: [UInt8], association: UInt32) {
        if let value, value.first == 255, let association = UInt32(bytes: value.dropFirst().prefix(4)) {
            return (Array(value.dropFirst(5)), association)
        }
        return ([0, 3, 0, 1] + hardware.bytes, UInt32(bytes: hardware.bytes.suffix(4)) ?? 0)
    }
}

/// A name that a server can enter into its zone: labels of letters, digits and hyphens, 1 to 63 bytes each
/// (RFC 1123, 2.1).
public struct HostName: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// - Returns: nil for anything else, or for more than 253 bytes.
    public init?(_ text: String) {
        guard !text.hasSuffix("."), !text.contains(" "), !text.contains("_"), text.utf8.count <= 253,
            DomainNames.words(Array(text.utf8)) == [text],
            text.split(separator: ".").allSatisfy({ !$0.hasPrefix("-") && !$0.hasSuffix("-") })
        else { return nil }
        description = text
    }
}

extension DHCPSettings {
    /// As RFC 7844, 3.5, asks: without randomness in what is no secret, and with it in the hardware address alone.
    func identifier(for hardware: HardwareAddress) -> [UInt8] {
        (isAnonymous ? .hardware : identifier).bytes(for: hardware)
    }

    /// Which client of DHCPv6 the device is.
    func device(for hardware: HardwareAddress) -> (device: [UInt8], association: UInt32) {
        (isAnonymous ? .hardware : identifier).device(for: hardware)
    }

    /// Whether a lease is the device's also with another hardware address than it was given to.
    var keepsLeaseWithOtherHardware: Bool { !isAnonymous && !identifier.isHardware }
}
