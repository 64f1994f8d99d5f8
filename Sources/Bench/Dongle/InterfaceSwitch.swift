import CLinux
import Glibc

/// Sets network interfaces up and down in the network namespace of the calling thread.
enum InterfaceSwitch {
    static func setUp(_ name: String, _ isUp: Bool) throws(DongleError) {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .refused("open a socket", errno: errno) }
        defer { close(descriptor) }
        var request = ifreq()
        withUnsafeMutableBytes(of: &request.ifr_ifrn.ifrn_name) { field in
            field.copyBytes(from: name.utf8.prefix(field.count - 1))
        }
        let attempt = "set \(name) \(isUp ? "up" : "down")"
        guard ioctl(descriptor, UInt(SIOCGIFFLAGS), &request) == 0 else { throw .refused(attempt, errno: errno) }
        let flags = Int32(request.ifr_ifru.ifru_flags)
        let wanted = isUp ? flags | Int32(IFF_UP) : flags & ~Int32(IFF_UP)
        request.ifr_ifru.ifru_flags = Int16(truncatingIfNeeded: wanted)
        guard ioctl(descriptor, UInt(SIOCSIFFLAGS), &request) == 0 else { throw .refused(attempt, errno: errno) }
    }
}
