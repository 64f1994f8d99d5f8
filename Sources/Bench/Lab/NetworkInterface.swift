import Glibc

/// One network interface, worked through a socket in its namespace: no program has to be started for it.
final class NetworkInterface: Sendable {
    let name: String
    private let control: FileDescriptor

    /// The interface is looked for in the namespace in which this is called.
    init(_ name: String) throws(LabError) {
        self.name = name
        control = try FileDescriptor.socket(AF_INET, SOCK_DGRAM)
    }

    func setUp(_ up: Bool) throws(LabError) {
        var request = request()
        try perform(SIOCGIFFLAGS, &request, "read the flags of \(name)")
        let flags = Int32(request.ifr_ifru.ifru_flags)
        let wanted = up ? flags | Int32(IFF_UP) : flags & ~Int32(IFF_UP)
        request.ifr_ifru.ifru_flags = Int16(truncatingIfNeeded: wanted)
        try perform(SIOCSIFFLAGS, &request, "set \(name) \(up ? "up" : "down")")
    }

    /// Renames it, which the kernel allows while it is down.
    func rename(to newName: String) throws(LabError) -> NetworkInterface {
        var request = request()
        withUnsafeMutableBytes(of: &request.ifr_ifru.ifru_newname) { field in
            field.copyBytes(from: newName.utf8.prefix(field.count - 1))
        }
        try perform(SIOCSIFNAME, &request, "rename \(name) to \(newName)")
        return try NetworkInterface(newName)
    }

    var isUp: Bool {
        var request = request()
        return ioctl(control.number, UInt(SIOCGIFFLAGS), &request) == 0
            && Int32(request.ifr_ifru.ifru_flags) & Int32(IFF_UP) != 0
    }

    /// The first IPv4 address.
    var address: IPv4Address? {
        var request = request()
        guard ioctl(control.number, UInt(SIOCGIFADDR), &request) == 0 else { return nil }
        return withUnsafeBytes(of: &request.ifr_ifru.ifru_addr) { bytes in
            IPv4Address(value: UInt32(bigEndian: bytes.load(as: sockaddr_in.self).sin_addr.s_addr))
        }
    }

    /// Adds an address. The second and later ones go by a label of their own.
    func add(_ address: IPv4Address, prefix: Int, label: String = "") throws(LabError) {
        var request = request(label: label)
        Self.put(address, into: &request)
        try perform(SIOCSIFADDR, &request, "give \(name) the address \(address)")
        Self.put(IPv4Address(value: ~0 << UInt32(32 - prefix)), into: &request)
        try perform(SIOCSIFNETMASK, &request, "give \(name) its netmask")
    }

    private func perform(_ number: Int32, _ request: inout ifreq, _ attempt: String) throws(LabError) {
        guard ioctl(control.number, UInt(number), &request) == 0 else { throw .lastCall(attempt) }
    }

    private func request(label: String = "") -> ifreq {
        var request = ifreq()
        let full = label.isEmpty ? name : "\(name):\(label)"
        withUnsafeMutableBytes(of: &request.ifr_ifrn.ifrn_name) { field in
            field.copyBytes(from: full.utf8.prefix(field.count - 1))
        }
        return request
    }

    private static func put(_ address: IPv4Address, into request: inout ifreq) {
        address.withSocketAddress { socketAddress, _ in request.ifr_ifru.ifru_addr = socketAddress.pointee }
    }
}
