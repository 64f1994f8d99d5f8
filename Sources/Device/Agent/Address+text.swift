import Glibc
import Netlink

extension Address {
    var text: String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = family == .ipv4 ? AF_INET : AF_INET6
        let isWritten = bytes.withUnsafeBytes {
            inet_ntop(family, $0.baseAddress, &buffer, socklen_t(buffer.count)) != nil
        }
        return isWritten ? String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "?"
    }
}
