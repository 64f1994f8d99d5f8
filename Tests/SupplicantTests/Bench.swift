import AgentModel
import Glibc
import Linux
import Testing

@testable import Supplicant

/// A directory that goes with the last reference to it.
final class ScratchDirectory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/altnet-supplicant-XXXXXX\0".utf8CString)
        precondition(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast(2).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { remove("\(path)/\(name)") }
            }
            closedir(directory)
        }
        Glibc.remove(path)
    }
}

/// The events of a supplicant, to be waited for.
@AgentLoop
final class EventLog {
    private(set) var all: [SupplicantEvent] = []
    private var read = 0
    private var waiter: CheckedContinuation<Void, Never>?

    func record(_ event: SupplicantEvent) {
        all.append(event)
        wake()
    }

    private func wake() {
        waiter?.resume()
        waiter = nil
    }

    /// The next event that was not taken yet, or nil when none came in `limit`.
    func next(within limit: Duration = .seconds(120)) async -> SupplicantEvent? {
        if read == all.count {
            let timer = LoopTimer(after: limit) { [weak self] in self?.wake() }
            await withCheckedContinuation { waiter = $0 }
            timer.cancel()
        }
        guard read < all.count else { return nil }
        defer { read += 1 }
        return all[read]
    }
}

/// A supplicant under test, with a fake one at the other end.
@AgentLoop
struct Bench {
    let directory = ScratchDirectory()
    let fake: FakeSupplicant
    let log = EventLog()
    let supplicant: Supplicant

    private nonisolated static let century = Duration.seconds(100 * 365 * 86_400)

    /// Time limits that never pass by themselves in a test that does not mean them to.
    nonisolated static var patient: Supplicant.Timing {
        var timing = Supplicant.Timing()
        timing.requestLimit = .seconds(60)
        timing.joinLimit = .seconds(120)
        // Their intervals begin when the machine was started, not with the test: one may end in the middle of it.
        timing.supervision = century
        timing.closeSupervision = century
        timing.retry = BackOff(first: .milliseconds(5), last: .milliseconds(20))
        return timing
    }

    init(timing: Supplicant.Timing = patient) {
        fake = FakeSupplicant(path: "\(directory.path)/wlan0")
        let log = log
        supplicant = Supplicant(
            controlSocket: fake.path, replyDirectory: directory.path, timing: timing,
            onEvent: { log.record($0) })
    }

    /// Connects, and takes the `available`.
    func start() async {
        supplicant.start()
        #expect(await log.next() == .available)
    }
}

enum Example {
    static let bssid = BSSID("02:00:00:00:01:00")!
    static let passphrase = "correct horse \"7\" \\battery"
    static let psk = Secret(Array(0..<32))

    static func request(
        _ ssid: [UInt8] = Array("Home".utf8), _ credential: JoinRequest.Credential? = nil, isHidden: Bool = false,
        bssid: BSSID? = nil, frequencies: [Int] = [], offer: Security? = nil, minimumSecurity: LinkProtection = [],
        isUnseen: Bool = false
    ) throws -> JoinRequest {
        JoinRequest(
            ssid: try SSID(bytes: ssid), credential: credential ?? .passphrase(Secret(text: passphrase), psk: psk),
            isHidden: isHidden, bssid: bssid, frequencies: frequencies.map { Frequency(megahertz: $0) }, offer: offer,
            minimumSecurity: minimumSecurity, isUnseen: isUnseen)
    }
}
