import AgentModel
import CNetlink
import Glibc

extension Address {
    /// Reads `struct ifaddrmsg` and its attributes.
    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        guard let family = reader.take(UInt8.self).flatMap(AddressFamily.init),
            let prefixLength = reader.take(UInt8.self), let flags = reader.take(UInt8.self),
            let scope = reader.take(UInt8.self), let index = reader.take(UInt32.self)
        else { return nil }
        let attributes = Attributes(reader.rest)
        // On point-to-point links IFA_ADDRESS is the other end's.
        guard let bytes = (attributes[IFA_LOCAL] ?? attributes[IFA_ADDRESS])?.bytes, bytes.count == family.byteCount
        else { return nil }
        self.family = family
        self.bytes = Array(bytes)
        self.prefixLength = Int(prefixLength)
        self.scope = Scope(scope)
        self.index = Int(clamping: index)
        let allFlags = attributes[IFA_FLAGS]?.number(as: UInt32.self) ?? UInt32(flags)
        isTentative = allFlags & UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED) != 0
    }
}

extension Address.Scope {
    init(_ number: UInt8) {
        switch UInt32(number) {
        case RT_SCOPE_UNIVERSE.rawValue: self = .global
        case RT_SCOPE_SITE.rawValue: self = .site
        case RT_SCOPE_LINK.rawValue: self = .link
        case RT_SCOPE_HOST.rawValue: self = .host
        default: self = .other(number)
        }
    }
}

extension AddressFamily {
    init?(_ number: UInt8) {
        switch Int32(number) {
        case AF_INET: self = .ipv4
        case AF_INET6: self = .ipv6
        default: return nil
        }
    }

    /// `AF_*`.
    var number: UInt8 {
        switch self {
        case .ipv4: UInt8(AF_INET)
        case .ipv6: UInt8(AF_INET6)
        }
    }
}
