import AgentModel
import FoundationEssentials
import Glibc

/// A network namespace. With one per machine, one kernel acts as several machines that share only the air.
struct NetworkNamespace: Sendable {
    let name: String

    /// Runs `body` in the namespace. Sockets and programs that `body` creates stay there.
    ///
    /// A namespace applies to a thread, so `body` must not suspend.
    func enter<Value>(_ body: () throws(LabError) -> Value) throws(LabError) -> Value {
        let outside = try FileDescriptor.open("/proc/thread-self/ns/net", O_RDONLY)
        let inside = try FileDescriptor.open("/run/netns/\(name)", O_RDONLY)
        try Self.move(into: inside, named: name)
        let result = Result { () throws(LabError) in try body() }
        try Self.move(into: outside, named: "the lab's own")
        return try result.get()
    }

    /// Whether a program accepts connections at this local address. Does not block.
    func isListening(_ address: IPv4Address, port: UInt16) throws(LabError) -> Bool {
        let socket = try enter { () throws(LabError) in try FileDescriptor.socket(AF_INET, SOCK_STREAM) }
        let result = address.withSocketAddress(port: port) { connect(socket.number, $0, $1) }
        guard result != 0, errno == EINPROGRESS else { return result == 0 }
        var entry = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, 0) == 1 && Int32(entry.revents) & (POLLERR | POLLHUP) == 0
    }

    /// Whether the kernel has a route to this address. Sends nothing.
    func hasRoute(to address: IPv4Address) throws(LabError) -> Bool {
        let socket = try enter { () throws(LabError) in try FileDescriptor.socket(AF_INET, SOCK_DGRAM) }
        return address.withSocketAddress(port: 9) { connect(socket.number, $0, $1) } == 0
    }

    private static func move(into namespace: FileDescriptor, named name: String) throws(LabError) {
        // Glibc's Swift module hides functions that need _GNU_SOURCE, such as setns(2).
        typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
        guard let symbol = dlsym(nil, "setns") else { throw .unavailable(reason: "the C library has no setns") }
        let setNamespace = unsafeBitCast(symbol, to: SetNamespace.self)
        let cloneNewNet: Int32 = 0x4000_0000  // linux/sched.h
        guard setNamespace(namespace.number, cloneNewNet) == 0 else {
            throw .lastCall("enter network namespace \(name)")
        }
    }
}

/// A network interface. A socket in its namespace controls it, which is faster than starting a program.
final class NamespaceInterface: Sendable {
    let name: String
    private let control: FileDescriptor

    /// Finds the interface in the calling thread's namespace.
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

    /// Renames the interface, which must be down.
    func rename(to newName: String) throws(LabError) -> NamespaceInterface {
        var request = request()
        withUnsafeMutableBytes(of: &request.ifr_ifru.ifru_newname) { field in
            field.copyBytes(from: newName.utf8.prefix(field.count - 1))
        }
        try perform(SIOCSIFNAME, &request, "rename \(name) to \(newName)")
        return try NamespaceInterface(newName)
    }

    var address: IPv4Address? {
        var request = request()
        guard ioctl(control.number, UInt(SIOCGIFADDR), &request) == 0 else { return nil }
        return withUnsafeBytes(of: &request.ifr_ifru.ifru_addr) { bytes in
            IPv4Address(value: UInt32(bigEndian: bytes.load(as: sockaddr_in.self).sin_addr.s_addr))
        }
    }

    /// Adds an address. Each further address needs a different label.
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

/// A simulated radio (mac80211_hwsim) with its interface.
struct Radio: Sendable {
    /// Name of the radio in the kernel, such as `phy1`.
    let phy: String
    let interface: String
    let address: BSSID

    private static let root = "/sys/class/ieee80211"

    /// Returns all simulated radios in the order of their creation.
    static func all() throws(LabError) -> [Radio] {
        let files = FileManager.default
        let names = ((try? files.contentsOfDirectory(atPath: root)) ?? []).filter { phy in
            files.fileExists(atPath: "/sys/kernel/debug/ieee80211/\(phy)/hwsim")
        }
        let radios = names.compactMap { phy -> Radio? in
            guard let interface = interface(of: phy),
                let text = try? String(contentsOfFile: "\(root)/\(phy)/macaddress", encoding: .utf8),
                let address = BSSID(text.trimmingLine)
            else { return nil }
            return Radio(phy: phy, interface: interface, address: address)
        }
        return radios.sorted { $0.address < $1.address }
    }

    var isThere: Bool { FileManager.default.fileExists(atPath: "\(Self.root)/\(phy)") }

    /// Returns the radio that has this address now; nil if the radio or its interface is missing.
    static func present(_ address: BSSID) -> Radio? { (try? all())?.first { $0.address == address } }

    /// Name of the radio's current interface. A program may have replaced the first interface.
    var currentInterface: String? { Self.interface(of: phy) }

    private static func interface(of phy: String) -> String? {
        try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(phy)/device/net").first
    }

    /// Sets the signal at receivers of this radio's frames, in dBm (-100...-1), for a transmit power of 0 dBm.
    ///
    /// Negative numbers are written as 64-bit hexadecimal, the only form that debugfs accepts for them.
    func setReceivedSignal(_ signal: Int) throws(LabError) {
        let file = try FileDescriptor.open("/sys/kernel/debug/ieee80211/\(phy)/hwsim/rx_rssi", O_WRONLY)
        let text = "0x" + String(UInt64(bitPattern: Int64(signal)), radix: 16)
        guard write(file.number, text, text.utf8.count) == text.utf8.count else {
            throw .lastCall("set the signal of \(phy) to \(signal) dBm")
        }
    }
}

extension Radio {
    /// Sets the radio's groups, one per bit. Radios without a common group do not receive each other's frames.
    func setGroup(_ group: Int) throws(LabError) {
        try Lab.write("\(group)", to: "/sys/kernel/debug/ieee80211/\(phy)/hwsim/group")
    }

    func hearRadar() throws(LabError) {
        let file = try FileDescriptor.open("/sys/kernel/debug/ieee80211/\(phy)/hwsim/dfs_simulate_radar", O_WRONLY)
        guard write(file.number, "1", 1) == 1 else { throw .lastCall("have \(phy) hear radar") }
    }
}

extension String {
    var trimmingLine: Substring { prefix { !$0.isNewline } }
}
