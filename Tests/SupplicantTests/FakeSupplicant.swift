import Dispatch
import Glibc

/// A wpa_supplicant without a radio: a real Unix datagram server that knows the commands a supplicant knows, and is
/// strict about all others. It can also misbehave, die and come back.
final class FakeSupplicant: @unchecked Sendable {  // All state is touched on its queue only.
    let path: String
    private let queue = DispatchQueue(label: "fake supplicant")
    private var descriptor: Int32 = -1
    private var source: (any DispatchSourceRead)?
    private var monitors: [Address] = []
    private var networks: [Int: [String: String]] = [:]
    private var blobs: [String: String] = [:]
    private var nextNetwork = 0
    private var status = "wpa_state=DISCONNECTED\naddress=02:00:00:00:00:00\n"
    private var misbehaviours: [(command: String, how: Misbehaviour)] = []
    private var sayings: [(command: String, lines: [String], first: Bool)] = []
    private var heldBack: [(answer: [UInt8], to: Address)] = []
    private var commands: [String] = []
    private var waiters: [(condition: @Sendable (View) -> Bool, continuation: CheckedContinuation<Bool, Never>)] = []

    /// Its answer to one command.
    enum Misbehaviour {
        case never
        case late
        case twice
        case instead([UInt8])
    }

    typealias Address = [UInt8]

    init(path: String) {
        self.path = path
        openSocket()
    }

    /// Its visible state.
    struct View: Sendable {
        let asked: [String]
        let networks: [Int]
    }

    /// Everything it was asked so far, with the secrets.
    var asked: [String] { queue.sync { commands } }
    /// The numbers of the networks it knows.
    var knownNetworks: [Int] { queue.sync { networks.keys.sorted() } }
    func network(_ number: Int) -> [String: String]? { queue.sync { networks[number] } }
    /// The content of a blob, in hexadecimal digits.
    func blob(_ name: String) -> String? { queue.sync { blobs[name] } }

    func setStatus(_ text: String) { queue.sync { status = text } }
    func addNetwork(_ number: Int) { queue.sync { networks[number] = [:] } }

    /// Misbehaves at the next command that begins with `command`.
    func misbehave(at command: String, _ how: Misbehaviour) { queue.sync { misbehaviours.append((command, how)) } }

    /// Sends the answers that it held back.
    func answerLate() {
        queue.sync {
            for (answer, address) in heldBack { send(answer, to: address) }
            heldBack = []
        }
    }

    /// Sends lines to everyone attached, in order, once it has been asked `command`: before its answer when `first`.
    func send(_ lines: [String], after command: String, first: Bool = false) {
        queue.sync { sayings.append((command, lines, first)) }
    }

    func send(_ lines: String...) { queue.sync { notify(lines) } }
    func send(bytes: [UInt8]) { queue.sync { for monitor in monitors { send(bytes, to: monitor) } } }

    /// Waits until its commands and networks are as they should be. Returns false when they are not in time.
    func reaches(_ condition: @escaping @Sendable (View) -> Bool) async -> Bool {
        queue.asyncAfter(deadline: .now() + 120) {
            for waiter in self.waiters { waiter.continuation.resume(returning: false) }
            self.waiters = []
        }
        return await withCheckedContinuation { continuation in
            queue.async {
                self.waiters.append((condition, continuation))
                self.wake()
            }
        }
    }

    private func wake() {
        let view = View(asked: commands, networks: networks.keys.sorted())
        waiters.removeAll { waiter in
            guard waiter.condition(view) else { return false }
            waiter.continuation.resume(returning: true)
            return true
        }
    }

    /// Opens its socket anew and remembers everything, as wpa_supplicant does when a client's queue is full.
    func reopen() {
        closeSocket()
        openSocket()
    }

    /// Ends like a process that is killed: without a word, and the socket file stays.
    func die() {
        closeSocket()
        queue.sync {
            monitors = []
            networks = [:]
            status = "wpa_state=DISCONNECTED\n"
        }
    }

    func comeAlive() { openSocket() }

    private func closeSocket() {
        guard let source = queue.sync(execute: { source }) else { return }
        let closed = DispatchSemaphore(value: 0)
        source.setCancelHandler {
            close(self.descriptor)
            self.descriptor = -1
            self.source = nil
            closed.signal()
        }
        source.cancel()
        closed.wait()
    }

    private func openSocket() {
        queue.sync {
            unlink(path)
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var size: Int32 = 1 << 20
            setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            precondition(result == 0, "cannot bind \(path): \(errno)")
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { [weak self] in self?.receive() }
            source.activate()
            self.source = source
        }
    }

    deinit {
        let descriptor = descriptor
        source?.setCancelHandler { close(descriptor) }
        source?.cancel()
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 8192)
        var from = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_un>.size)
        var length = socklen_t(from.count)
        let count = from.withUnsafeMutableBytes { from in
            recvfrom(
                descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT),
                from.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard count > 0 else { return }
        let command = String(decoding: buffer[..<count], as: UTF8.self)
        commands.append(command)
        serve(command, Array(from[..<Int(length)]))
    }

    private func serve(_ command: String, _ address: Address) {
        let due = sayings.filter { command.hasPrefix($0.command) }
        sayings.removeAll { command.hasPrefix($0.command) }
        for logging in due where logging.first { notify(logging.lines) }
        let answer = Array(answer(to: command, from: address).utf8)
        let misbehaviour = misbehaviours.firstIndex { command.hasPrefix($0.command) }.map {
            misbehaviours.remove(at: $0).how
        }
        switch misbehaviour {
        case nil: send(answer, to: address)
        case .never: break
        case .late: heldBack.append((answer, address))
        case .twice:
            send(answer, to: address)
            send(answer, to: address)
        case .instead(let bytes): send(bytes, to: address)
        }
        for logging in due where !logging.first { notify(logging.lines) }
        wake()
    }

    private func answer(to command: String, from address: Address) -> String {
        let words = command.split(separator: " ", maxSplits: 3).map(String.init)
        switch words[0] {
        case "ATTACH" where words.count == 1:
            monitors.append(address)
            return "OK\n"
        case "DETACH" where words.count == 1:
            monitors.removeAll { $0 == address }
            return "OK\n"
        case "STATUS" where words.count == 1: return status
        case "GET_CAPABILITY" where command == "GET_CAPABILITY key_mgmt":
            return "NONE IEEE8021X WPA-EAP WPA-PSK OWE SAE WPA-EAP-SHA256 WPA-PSK-SHA256\n"
        case "GET_CAPABILITY" where command == "GET_CAPABILITY auth_alg": return "OPEN SHARED LEAP\n"
        case "GET_CAPABILITY" where command == "GET_CAPABILITY pairwise": return "GCMP-256 CCMP TKIP\n"
        case "STA_AUTOCONNECT" where command == "STA_AUTOCONNECT 0": return "OK\n"
        case "SET" where command == "SET sae_pwe 2": return "OK\n"
        case "SET" where command == "SET ap_isolate 1": return "OK\n"
        case "AP_SCAN" where words.count == 2 && ["1", "2"].contains(words[1]): return "OK\n"
        case "SET" where words.count == 4 && words[1] == "blob":
            blobs[words[2]] = words[3]
            return "OK\n"
        case "GET_NETWORK" where words.count == 3:
            return Int(words[1]).flatMap { networks[$0]?[words[2]] }.map { "\($0)" } ?? "FAIL\n"
        case "REAUTHENTICATE" where words.count == 1: return "OK\n"
        case "AUTOSCAN" where command == "AUTOSCAN ": return "OK\n"
        case "BSSID_IGNORE" where command == "BSSID_IGNORE clear": return "OK\n"
        case "ADD_NETWORK" where words.count == 1:
            defer { nextNetwork += 1 }
            networks[nextNetwork] = [:]
            return "\(nextNetwork)\n"
        case "SET_NETWORK" where words.count == 4:
            guard let number = Int(words[1]), networks[number] != nil, Self.variables.contains(words[2])
            else { return "FAIL\n" }
            networks[number]?[words[2]] = words[3]
            return "OK\n"
        case "ROAM" where words.count == 2, "FT_DS" where words.count == 2: return networks.isEmpty ? "FAIL\n" : "OK\n"
        case "NEIGHBOR_REP_REQUEST" where words.count == 1: return "FAIL\n"
        case "SELECT_NETWORK" where words.count == 2:
            return Int(words[1]).flatMap { networks[$0] } == nil ? "FAIL\n" : "OK\n"
        case "LIST_NETWORKS" where words.count == 1:
            return "network id / ssid / bssid / flags\n"
                + networks.keys.sorted().map { "\($0)\tName \\t\tany\t[DISABLED]\n" }.joined()
        case "REMOVE_NETWORK" where command == "REMOVE_NETWORK all":
            networks = [:]
            return "OK\n"
        case "REMOVE_NETWORK" where words.count == 2:
            return Int(words[1]).flatMap { networks.removeValue(forKey: $0) } == nil ? "FAIL\n" : "OK\n"
        case "DISCONNECT" where words.count == 1: return "OK\n"
        default: return "UNKNOWN COMMAND\n"
        }
    }

    private static let variables: Set = [
        "ssid", "bgscan", "scan_ssid", "bssid", "scan_freq", "key_mgmt", "ieee80211w", "psk", "sae_password",
        "proto", "pairwise", "group", "owe_only", "eap", "identity", "anonymous_identity", "ca_cert",
        "domain_suffix_match", "password", "phase1", "phase2", "client_cert", "private_key",
        "mode", "frequency", "wps_disabled",
    ]

    private func notify(_ lines: [String]) {
        for line in lines {
            for monitor in monitors { send(Array("<3>\(line)".utf8), to: monitor) }
        }
    }

    private func send(_ bytes: [UInt8], to address: Address) {
        address.withUnsafeBytes { address in
            guard let name = address.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return }
            // Blocks while the reader's queue is full, so that nothing a test counts on is lost.
            _ = sendto(descriptor, bytes, bytes.count, 0, name, socklen_t(address.count))
        }
    }
}
