import AgentModel
import AppProtocol
import Foundation
import Glibc
import PipedPrograms
import Simulation
import Testing

@testable import AppClient
@testable import DeveloperDevice

/// The tables of Docs/integrator/security.md, cell by cell, with a device that has the real core, keys, server and
/// page.
@Suite(.serialized) struct AccessTests {
    @Test func eachWayInMayDoWhatTheTableSays() async throws {
        let table = try AccessTable(of: "request", "program")
        try await withAccessDevice { bench in
            #expect(table.columns.count == 8 && table.rows.map(\.name) == Question.all.map(\.name))
            for (index, column) in table.columns.enumerated() {
                let way = try await bench.way(column)
                for (row, question) in zip(table.rows, Question.all) {
                    let found = try await bench.ask(question, by: way)
                    #expect(found == row.cells[index], "\(row.name) by \(column)")
                }
                await way.close()
            }
        }
    }

    /// A type that is new has to find its place in the table.
    @Test func theTableHasEachRequest() throws {
        let types = try AccessTable(of: "request", "program").rows.compactMap { row in
            row.name.split(separator: "`").first.map(String.init)
        }
        let all = MessageType.allCases.filter { $0 != .openSession && $0 != .proveRequest }
        #expect(Set(types) == Set(all.map(\.rawValue)))
    }

    /// The proof is of one key, one request and one device, until it is over and once.
    @Test func aProofIsGoodForOneCommand() async throws {
        try await withAccessDevice { bench in
            let relay = try RelayLine(to: bench.running.places.socket, as: .switch)
            let open = Request.Body.switchNetwork(
                SwitchRequest(target: .new(NewNetwork(ssid: try SSID("Cafe"), password: nil, security: .open))))
            #expect(try await relay.ask(open) == .proofRequired)
            func proved(
                _ id: String, in seconds: Int64 = 60, by key: DeviceKey? = nil
            ) throws -> ProvedRequest {
                let expires = Timestamp(millisecondsSince1970: Timestamp.now.millisecondsSince1970 + seconds * 1000)
                return try ProvedRequest(
                    Request(id: id, content: .device(open)), until: expires, by: key ?? bench.device)
            }
            let good = try proved("c1")
            let altered = ProvedRequest(
                line: good.line.replacingOccurrences(of: "Cafe", with: "Evil"), key: good.key, proof: good.proof)
            let stranger = try DeviceKey(
                deviceId: bench.device.deviceId, localKey: Secret(text: "another key of another"))
            let neighbour = try DeviceKey(deviceId: "other", localKey: bench.device.localKey)
            for wrong in [altered, try proved("c1", by: stranger), try proved("c1", by: neighbour)] {
                #expect(try await relay.ask(wrong) == .keyRefused)
            }
            #expect(try await relay.ask(proved("c0", in: -1)) == .malformed)
            #expect(try await relay.ask(proved("c0", in: 3700)) == .malformed)
            #expect(try await relay.ask(proved("c1", by: bench.key(.see))) == .notPermitted)
            #expect(try await relay.ask(good) == nil)
            #expect(try await relay.ask(good) == .malformed, "it is carried out once")
            // A relay of lower role cannot have more done, whoever has proved it.
            let low = try RelayLine(to: bench.running.places.socket, as: .see)
            #expect(try await low.ask(proved("c2")) == .notPermitted)
            // A program needs no such proof, and has none checked.
            let program = try RelayLine(to: bench.running.places.socket, as: nil)
            #expect(try await program.ask(proved("c3")) == .notPermitted)
            let told = try await bench.unix.history(limit: 50).decisions.filter { $0.kind.rawValue == "command" }
            #expect(told.contains { $0.by == .owner && $0.text.contains("by a relay") })
        }
    }

    /// The hash of a network is in the answers for apps and programs alone.
    @Test func nothingElseHasTheHash() async throws {
        try await withAccessDevice { bench in
            let device = bench.device
            let hashes = try [("Garden", "watering-can"), ("Home", "front-door-mat")].map { name, password in
                NetworkHash(localKey: device.localKey, ssid: try SSID(name), password: Secret(text: password))
            }
            let known = try await bench.unix.backups()
            #expect(Set(hashes).isSubset(of: known.stored.map(\.hash)), "the apps have it")

            let relay = try RelayLine(to: bench.running.places.socket, as: .manage)
            var said: [String: String] = [:]
            let questions: [Request.Body] = [
                .getCapabilities, .getNetwork, .getBackups, .getHistory(HistoryQuery(limit: 200)), .getScan,
                .getDiagnosis, .getMetrics, .getSwitch(SwitchQuery(switchId: "none")),
            ]
            for question in questions { said[question.type.rawValue] = try await relay.line(.device(question)) }
            let names = try Self.names(in: said["backups.get"] ?? "")
            #expect(names.count == known.stored.count && Set(names).isDisjoint(with: known.stored.map(\.hash)))
            #expect(said["network.get"]?.contains("\"hash\"") == true)

            // A network is named so over a relay, and by nothing else.
            #expect(try await relay.ask(Self.switching(to: hashes[0])) == .unknownNetwork)
            let events = try RelayLine(to: bench.running.places.socket, as: .see)
            _ = try await events.line(.subscribe(EventSubscription(since: 0)))
            let joined = try #require(zip(known.stored, names).first { $0.0.ssid.text == "Home" }?.1)
            #expect([nil, .alreadyAssociated].contains(try await relay.ask(Self.switching(to: joined))))
            try await bench.running.device.change("Garden off")
            said["events"] = try await events.lines(until: #""ssid":"Home","state":"online""#)

            said["metrics"] = try await bench.unix.metrics().text(.prometheus)
            for path in ["/networks", "/result"] { said["page \(path)"] = try await bench.page(path) }
            said["log"] = bench.log.joined(separator: "\n")
            for (place, text) in said {
                #expect(!text.isEmpty, "\(place)")
                for hash in hashes {
                    let bytes = Data(base64Encoded: hash.base64).map(Array.init) ?? []
                    #expect(!text.contains(hash.base64) && !text.contains(Hex.string(bytes)), "\(place)")
                    #expect(!text.contains(hash.base64.replacingOccurrences(of: "/", with: "\\/")), "\(place)")
                }
            }
        }
    }

    private static func switching(to name: NetworkHash) -> Request.Body {
        .switchNetwork(SwitchRequest(target: .stored(name)))
    }

    private static func names(in line: String) throws -> [NetworkHash] {
        try ServerLine.body(BackupList.self, of: Array(line.utf8)).stored.map(\.hash)
    }
}

/// A request of the table, and its body.
struct Question {
    let name: String
    let content: Request.Content

    private init(_ name: String, _ body: Request.Body) { (self.name, content) = (name, .device(body)) }
    private init(_ name: String, _ content: Request.Content) { (self.name, self.content) = (name, content) }

    /// Names and boxes that are none: a refusal for want of permission comes before.
    static let all: [Question] = {
        guard let ssid = try? SSID("Cafe"), let name = KeyName("nobody"),
            let box = SealedBox(
                keyId: "none", bytes: [UInt8](repeating: 1, count: 112), proof: Proof(of: [], with: Secret([1]))),
            let sealed = SealedPassword(box)
        else { return [] }
        let none = NetworkHash(localKey: Secret([1]), ssid: ssid, password: nil)
        let open = NetworkReference.new(NewNetwork(ssid: ssid, password: nil, security: .open))
        let query = SwitchQuery(switchId: "none")
        return [
            Question("`capabilities.get`", .getCapabilities), Question("`network.get`", .getNetwork),
            Question("`backups.get`", .getBackups),
            Question("`backups.update`, stored networks", .updateBackups(BackupsUpdate(networks: [.stored(none)]))),
            Question(
                "`backups.update`, a network or an address that is new",
                .updateBackups(BackupsUpdate(networks: [open], ifRevision: -1))),
            Question(
                "`password.stage`",
                .stagePassword(
                    PasswordStaging(
                        changeId: "c", network: NewNetwork(ssid: ssid, credential: .sealed(sealed)), keepFor: nil))),
            Question("`password.drop`", .dropPassword(StagedPasswordQuery(changeId: "none"))),
            Question("`network.switch`, a stored network", .switchNetwork(SwitchRequest(target: .stored(none)))),
            Question("`network.switch`, a network that is new", .switchNetwork(SwitchRequest(target: open))),
            Question("`switch.get`", .getSwitch(query)), Question("`switch.confirm`", .confirmSwitch(query)),
            Question("`scan.start`", .startScan(ScanRequest())), Question("`scan.get`", .getScan),
            Question("`events.subscribe`", .subscribe(EventSubscription())),
            Question("`history.get`", .getHistory(HistoryQuery())), Question("`metrics.get`", .getMetrics),
            Question("`diagnosis.get`", .getDiagnosis), Question("`key.agree`", .agreeKey(SealingKeyQuery())),
            Question("`key.agree`, with a nonce", .agreeKey(SealingKeyQuery(nonce: .random()))),
            Question("`targets.get`", .getTargets), Question("`targets.update`", .updateTargets(.reset)),
            Question("`providers.get`", .getProviders),
            Question("`providers.set`", .setProvider(ProviderSwitch(provider: "none", isOn: true))),
            Question("`name.set`", .setName(DeviceNameChange(name: nil))),
            Question("`rescue.open`", .openRescue(SetupAccessPointRequest())), Question("`rescue.close`", .closeRescue),
            Question("`portal.get`", .getPortal),
            Question("`portal.answer`", .answerPortal(PortalAnswer(id: 1, values: [:]))),
            Question("`keys.get`", .getKeys),
            // The owner's name is taken: nothing is made.
            Question("`keys.add`", .addKey(KeyRequest(name: .owner, role: .see))),
            Question("`keys.revoke`", .revokeKey(KeyQuery(name: name))),
            Question("`key.claim`", .claimKey(KeyClaim(name: KeyName("tablet")))),
        ]
    }()
}

/// A table of Docs/integrator/security.md.
struct AccessTable {
    let columns: [String]
    let rows: [(name: String, cells: [String])]

    struct Missing: Error {}

    /// - Parameters:
    ///   - head: of its first column.
    ///   - second: of its second one.
    init(of head: String, _ second: String) throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let lines = try String(contentsOfFile: root + "/Docs/integrator/security.md", encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0.hasPrefix("| \(head) | \(second) |") }) else { throw Missing() }
        func cells(_ line: Substring) -> [String] {
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        }
        columns = Array(cells(lines[start]).dropFirst())
        rows = lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            let cells = cells(line)
            return (cells.first ?? "", Array(cells.dropFirst()))
        }
    }
}

/// A device with a key of each role.
struct AccessBench {
    let running: RunningDevice
    let unix: DeviceClient
    let keys: [Role: DeviceKey]
    private let notices: Notices
    private let pagePort: Int

    final class Notices: @unchecked Sendable {  // All of it is the lock's.
        private let lock = NSLock()
        private var texts: [String] = []
        func add(_ text: String) { lock.withLock { texts.append(text) } }
        var all: [String] { lock.withLock { texts } }
    }

    init(_ running: RunningDevice, _ notices: Notices, pagePort: Int) async throws {
        (self.running, self.notices, self.pagePort) = (running, notices, pagePort)
        unix = try await DeviceClient(connectingTo: .unixSocket(path: running.places.socket), timeout: .seconds(60))
        var keys: [Role: DeviceKey] = [:]
        for role in Role.allCases {
            let name = try #require(KeyName("an app that may \(role.rawValue)"))
            keys[role] = try await unix.addKey(KeyRequest(name: name, role: role)).code.device
        }
        self.keys = keys
    }

    var device: DeviceKey { running.pairingCode.device }
    var log: [String] { notices.all }

    func key(_ role: Role) throws -> DeviceKey { try #require(keys[role]) }

    enum Way {
        case client(DeviceClient)
        case relay(RelayLine)

        func close() async { if case .client(let client) = self { await client.close() } }
    }

    func way(_ column: String) async throws -> Way {
        let words = column.split(separator: " ").map { $0.trimmingCharacters(in: ["`"]) }
        func credentials(_ key: DeviceKey) async throws -> Way {
            .client(
                try await DeviceClient(
                    connectingTo: .network(host: "127.0.0.1", port: running.port, device: key), timeout: .seconds(60)))
        }
        switch words[0] {
        case "program":
            return .client(
                try await DeviceClient(
                    connectingTo: .unixSocket(path: running.places.socket), timeout: .seconds(60)))
        case "key": return try await credentials(try key(try #require(Role(rawValue: words[1]))))
        case "invitation":
            return try await credentials(
                try await unix.addKey(KeyRequest(name: nil, role: .manage, claimWithin: 600)).code.device)
        default:
            let role: Role = try #require(Role(rawValue: words[1]))
            return .relay(try RelayLine(to: running.places.socket, as: role))
        }
    }

    /// What a cell of the table says, as it is found.
    func ask(_ question: Question, by way: Way) async throws -> String {
        switch way {
        case .client(let client):
            var code = try await Self.code(of: question.content, client)
            // All rows come from one address, which may ask so often only.
            while code == .tooManyRequests {
                try await Task.sleep(for: .milliseconds(50))
                code = try await Self.code(of: question.content, client)
            }
            return code.map(Self.isRefusal) ?? false ? "no" : "yes"
        case .relay(let relay):
            guard let code = try await relay.code(question.content), Self.isRefusal(code) else { return "yes" }
            guard code == .proofRequired, case .device(let body) = question.content else { return "no" }
            // The proof of a key whose role does, and of one whose does not.
            let (good, bad) = try (relay.proved(body, by: device), relay.proved(body, by: key(.see)))
            if let code = try await relay.ask(good), Self.isRefusal(code) { return "no, not even proved: \(code)" }
            if body.type.role > .see, try await relay.ask(bad) != .notPermitted { return "with any proof" }
            return "proof"
        }
    }

    private struct Anything: Decodable { init(from decoder: any Decoder) throws {} }

    private static func code(of content: Request.Content, _ client: DeviceClient) async throws -> ErrorCode? {
        do {
            switch content {
            case .device(let body): let _: Anything = try await client.ask(body)
            default: _ = try await client.events(EventSubscription())
            }
            return nil
        } catch ClientError.refused(let error) {
            return error.code
        }
    }

    private static func isRefusal(_ code: ErrorCode) -> Bool {
        [.notPermitted, .proofRequired, .sealRequired, .keyRefused].contains(code)
    }

    func page(_ path: String) async throws -> String { try await PageBrowser(port: pagePort).get(path) }
}

/// A connection to the device's socket, by lines, that marks its requests as those of others.
final class RelayLine: @unchecked Sendable {  // One test uses it, one request at a time.
    private let descriptor: Int32
    private let role: Role?
    private var splitter = LineSplitter()
    private var number = 0

    init(to path: String, as role: Role?) throws {
        self.role = role
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw POSIXError(.ECONNREFUSED) }
    }

    deinit { close(descriptor) }

    /// The answer's line.
    func line(_ content: Request.Content) async throws -> String {
        number += 1
        let line = try Request(id: "r\(number)", content: content, relay: role).line() + [UInt8(ascii: "\n")]
        return try await offLoop {
            _ = line.withUnsafeBytes { send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            return try self.next()
        }
    }

    /// All that comes, up to a line that has this text.
    func lines(until text: String) async throws -> String {
        try await offLoop {
            var all = ""
            repeat { all += try self.next() + "\n" } while !all.contains(text)
            return all
        }
    }

    private func next() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if case .line(let line)? = splitter.next() { return String(decoding: line, as: UTF8.self) }
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { throw POSIXError(.ECONNRESET) }
            splitter.append(buffer.prefix(count))
        }
    }

    func code(_ content: Request.Content) async throws -> ErrorCode? {
        var text = try await line(content)
        // An event may come in between, once it is subscribed.
        while case .event = try ServerLine(line: Array(text.utf8)) { text = try await offLoop { try self.next() } }
        guard case .answer(_, let failure) = try ServerLine(line: Array(text.utf8)) else { throw POSIXError(.EPROTO) }
        return failure?.code
    }

    func ask(_ body: Request.Body) async throws -> ErrorCode? { try await code(.device(body)) }
    func ask(_ proved: ProvedRequest) async throws -> ErrorCode? { try await code(.prove(proved)) }

    func proved(_ body: Request.Body, by key: DeviceKey) throws -> ProvedRequest {
        let expires = Timestamp(millisecondsSince1970: Timestamp.now.millisecondsSince1970 + 60_000)
        return try ProvedRequest(Request(id: UUID().uuidString, content: .device(body)), until: expires, by: key)
    }
}

private func withAccessDevice(_ body: (AccessBench) async throws -> Void) async throws {
    try await withFolder { folder in
        var settings = DeveloperDevice.Settings(try ScenarioLibrary.scenario(named: "house-with-repeater"))
        settings.speed = 30
        var places = RunningDevice.Places(sockets: folder)
        (places.state, places.port, places.isAnnounced, places.page) = (folder + "/state", 0, false, try freePort())
        let notices = AccessBench.Notices()
        let running = try await RunningDevice(settings, at: places) { notice in
            // Others are the events themselves, which never leave the process so.
            if case .log(_, let text) = notice { notices.add(text) }
        }
        await running.begin()
        do {
            let bench = try await AccessBench(running, notices, pagePort: places.page ?? 0)
            try await body(bench)
            await bench.unix.close()
            await running.stop()
        } catch {
            await running.stop()
            throw error
        }
    }
}
