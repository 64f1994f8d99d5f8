import AgentModel

/// User settings of the client.
public struct DHCPSettings: Sendable, Hashable {
    public var identifier = ClientIdentifier.hardware
    /// Name sent to the server, which may publish it in DNS; nil to send none.
    public var hostName: HostName?
    /// Whether to hide the device's identity (RFC 7844). Use it with randomized hardware addresses.
    public var isAnonymous: Bool

    public init(
        identifier: ClientIdentifier = .hardware, hostName: HostName? = nil, isAnonymous: Bool = false
    ) {
        (self.identifier, self.hostName, self.isAnonymous) = (identifier, hostName, isAnonymous)
    }
}

/// Client identifier (option 61; RFC 2132, 9.14).
public struct ClientIdentifier: Sendable, Hashable {
    private let value: [UInt8]?

    private init(_ value: [UInt8]?) { self.value = value }

    /// Hardware type and address, as most servers expect.
    public static let hardware = ClientIdentifier(nil)

    /// - Parameter text: 1 to 254 bytes of UTF-8. Other lengths return nil.
    public static func text(_ text: String) -> ClientIdentifier? {
        guard (1...254).contains(text.utf8.count) else { return nil }
        return ClientIdentifier([0] + Array(text.utf8))
    }

    /// Creates an identifier shared with DHCPv6 (RFC 4361, 6.1) from an IAID and a DUID (3 to 130 bytes, else nil; RFC
    /// 8415, 11.1).
    public static func unique(association: UInt32, device: [UInt8]) -> ClientIdentifier? {
        guard (3...130).contains(device.count) else { return nil }
        return ClientIdentifier([255] + association.bytes + device)
    }

    /// Whether the identifier depends on the hardware address.
    var isHardware: Bool { value == nil }

    func bytes(for hardware: HardwareAddress) -> [UInt8] { value ?? [1] + hardware.bytes }

    /// DUID and IAID, as given to ``unique(association:device:)``, else derived from the hardware address (DUID-LL, RFC
    /// 8415, 11.4).
    func device(for hardware: HardwareAddress) -> (device: [UInt8], association: UInt32) {
        if let value, value.first == 255, let association = UInt32(bytes: value.dropFirst().prefix(4)) {
            return (Array(value.dropFirst(5)), association)
        }
        return ([0, 3, 0, 1] + hardware.bytes, UInt32(bytes: hardware.bytes.suffix(4)) ?? 0)
    }
}

/// Valid DNS host name: labels of 1 to 63 letters, digits and hyphens (RFC 1123, 2.1), at most 253 bytes.
public struct HostName: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    public init?(_ text: String) {
        guard !text.hasSuffix("."), !text.contains(" "), !text.contains("_"), text.utf8.count <= 253,
            DomainNames.words(Array(text.utf8)) == [text],
            text.split(separator: ".").allSatisfy({ !$0.hasPrefix("-") && !$0.hasSuffix("-") })
        else { return nil }
        description = text
    }
}

extension DHCPSettings {
    /// Client identifier, derived from the hardware address for anonymous clients (RFC 7844, 3.5).
    func identifier(for hardware: HardwareAddress) -> [UInt8] {
        (isAnonymous ? .hardware : identifier).bytes(for: hardware)
    }

    /// DUID and IAID, derived from the hardware address for anonymous clients.
    func device(for hardware: HardwareAddress) -> (device: [UInt8], association: UInt32) {
        (isAnonymous ? .hardware : identifier).device(for: hardware)
    }

    /// Whether a lease stays valid after a change of the hardware address.
    var keepsLeaseWithOtherHardware: Bool { !isAnonymous && !identifier.isHardware }
}
