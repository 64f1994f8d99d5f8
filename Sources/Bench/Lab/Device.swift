import AgentModel
import AppClient
import AppProtocol
import FoundationEssentials
import Glibc
import Synchronization

/// The device under test: the real agent on the station's interface. It also acts as the agent's app and records all
/// events, so that a scenario can check them afterwards.
public actor Device {
    private let lab: Lab
    /// Folder of the agent's key file, root key, socket and log.
    public nonisolated let directory: String
    private let settings: [String: String]
    private let user: UInt32?
    private let memory: MemoryLimit?
    private let isRecording: Bool
    private let onEvent: @Sendable (Event.Body) -> Void
    public private(set) var program: Program?
    private var listener: Task<Void, Never>?
    private nonisolated let record = Mutex(Record())

    private struct Record {
        var status: NetworkStatus?
        var decisions: [Decision] = []
        var switches: [String: SwitchStatus] = [:]
    }

    /// Path of the agent's program: `$LAB_ALTNET`, or `altnet` next to the running program.
    public static let binary: String = {
        ProcessInfo.processInfo.environment["LAB_ALTNET"] ?? program("altnet", beside: CommandLine.arguments[0])
    }()

    /// Returns the path of a program in the folder of `path`.
    public static func program(_ name: String, beside path: String) -> String {
        (path.lastIndex(of: "/").map { String(path[...$0]) } ?? "") + name
    }

    /// - Parameters:
    ///   - settings: environment variables for the agent. Variables with an empty value are removed.
    ///   - user: ID of a user without capabilities who runs the agent; nil for root.
    ///   - memory: memory limit; nil for none.
    ///   - isRecording: whether the agent records the policy's events and decisions, and logs everything.
    ///   - onEvent: called for each event in order.
    public init(
        in lab: Lab, settings: [String: String] = [:], runAs user: UInt32? = nil,
        memory: MemoryLimit? = nil, isRecording: Bool = true,
        onEvent: @escaping @Sendable (Event.Body) -> Void = { _ in }
    ) {
        self.lab = lab
        directory = lab.directory + "/altnet"
        self.settings = settings
        self.user = user
        self.memory = memory
        self.isRecording = isRecording
        self.onEvent = onEvent
    }

    /// Key for an app. Throws before the device's first start, because the key does not exist yet.
    public var key: DeviceKey {
        get throws {
            func content(_ name: String) throws -> String {
                try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8).filter { $0 != "\n" }
            }
            return try DeviceKey(
                deviceId: content("device-id"), localKey: Secret(text: content("local-key")))
        }
    }

    public var log: String { program.flatMap { try? String(contentsOfFile: $0.log, encoding: .utf8) } ?? "" }

    public nonisolated var socket: String { directory + "/altnet.sock" }
    /// Path of the agent's recording of policy events and decisions.
    public nonisolated static func record(in lab: Lab) -> String { lab.directory + "/altnet/record" }

    // MARK: Power

    public func start() async throws {
        try await launch()
        try await eventually(within: .seconds(20), every: .milliseconds(50), "the agent to answer") {
            try await self.connect()
        }
    }

    /// Starts the agent. Does not wait for it or listen for events.
    public func launch() async throws {
        let recording = ["ALTNET_LOG_LEVEL": "trace", "ALTNET_RECORD": Self.record(in: lab)]
        var environment = [
            "ALTNET_INTERFACE": lab.station.interface, "ALTNET_SUPPLICANT_DIR": lab.station.controlDirectory,
            "ALTNET_STATE_DIR": directory, "ALTNET_SOCKET": socket, "ALTNET_RESOLVER": "none",
            // Disable setup access points, which would disturb scenarios without a network.
            "ALTNET_SETUP_AP": "no",
        ].merging(isRecording ? recording : [:]) { $1 }
        environment["ALTNET_SPARE_INTERFACE"] = lab.station.spareInterface
        environment.merge(UnitEnvironment.memory) { own, _ in own }
        try prepareFolder()
        // Set parameters of mac80211. FullMAC radios do not use them.
        if Lab.radioKind == .softMAC { try LossDetection.boards().apply() }
        let command = user.map { ["setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups", Self.binary] }
        let variables = environment.merging(settings) { _, own in own }.filter { !$0.value.isEmpty }
        if variables["ALTNET_RECORD"] != nil { await lab.noteRecord() }
        let words = (memory?.command ?? []) + (command ?? [Self.binary]) + ["agent"]
        program = try await lab.start(
            words[0], Array(words.dropFirst()),
            environment: variables)
    }

    public func leaveAlone() async {
        listener?.cancel()
        await listener?.value
        listener = nil
    }

    private func prepareFolder() throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        guard let user else { return }
        // Allow the user to enter the lab's folder, which only root can access by default.
        guard chmod(lab.directory, 0o711) == 0, chown(directory, user, user) == 0 else {
            throw LabError.system(SystemError("chown \(directory)"))
        }
    }

    public func kill() {
        listener?.cancel()
        program?.kill()
        program = nil
    }

    public func stop() async {
        listener?.cancel()
        await program?.terminate()
        program = nil
    }

    public var isRunning: Bool { program?.isRunning ?? false }

    /// Resident memory of the agent in KiB; nil if it does not run.
    public var residentMemory: Int? { program?.residentMemory }

    /// Measures the agent's context switches and processor time from now on, for this duration; nil if the agent does
    /// not run.
    public func work(for time: Duration) async throws -> (wakeUps: Int, processorTime: Duration)? {
        guard let program else { return nil }
        var meter = WorkMeter(program)
        for _ in 0..<max(1, Int(time / WorkMeter.interval)) {
            try await Task.sleep(for: WorkMeter.interval)
            meter.look()
        }
        return (meter.work.switches, meter.work.processorTime)
    }

    private func connect() async throws -> Bool {
        guard program?.isRunning == true else {
            throw LabError.ended(program: "altnet agent", said: program?.lastLines ?? "")
        }
        guard let client = try? await client() else { return false }
        let events = try await client.events()
        let history = try await client.history(limit: ProtocolLimits.historyDecisions.upperBound)
        let status = try await client.network()
        record.withLock { $0 = Record(status: status, decisions: history.decisions, switches: $0.switches) }
        listener = Task {
            do { for try await event in events { record(event) } } catch {}
            await client.close()
        }
        return true
    }

    private nonisolated func record(_ event: Event) {
        record.withLock { record in
            switch event.body {
            case .networkChanged(let status): record.status = status
            case .decision(let decision) where decision.seq > record.decisions.last?.seq ?? 0:
                record.decisions.append(decision)
            case .switchProgress(let status): record.switches[status.switchId] = status
            case .decision, .signal, .scanFinished, .backupsChanged, .targetChanged, .portalRequest, .portalEnded, .gap:
                break
            }
        }
        onEvent(event.body)
    }

    // MARK: App

    public func client() async throws(ClientError) -> DeviceClient {
        try await DeviceClient(connectingTo: .unixSocket(path: socket))
    }

    /// Runs the command line against the agent and returns its output.
    public func commandLine(_ arguments: [String]) async throws -> String {
        let program = try await lab.start(
            Self.binary, arguments + ["--socket", socket], environment: ["NO_COLOR": "1"], log: "command-line")
        defer { try? FileManager.default.removeItem(atPath: program.log) }
        try await eventually(within: .seconds(30), "altnet \(arguments.joined(separator: " ")) to end") {
            !program.isRunning
        }
        return try String(contentsOfFile: program.log, encoding: .utf8)
    }

    public func ask<Answer: Sendable>(
        _ question: (DeviceClient) async throws(ClientError) -> Answer
    ) async throws(ClientError) -> Answer {
        let client = try await client()
        let answer: Result<Answer, ClientError>
        do { answer = .success(try await question(client)) } catch { answer = .failure(error) }
        await client.close()
        return try answer.get()
    }

    /// Switches a new device to its first network, and waits until it is online there.
    /// - Parameter security: security that the owner declares; nil for none.
    public func provision(_ home: AccessPoint, security: Security? = nil) async throws {
        let status = try await switchNetwork(to: home, security: security)
        let outcome = try await outcome(of: status, within: .seconds(40))
        guard outcome.phase == .committed else {
            throw LabError.unexpected("provisioning ended with \(outcome.phase): \(outcome.text ?? "")")
        }
        try await online(on: home, within: .seconds(5))
    }

    @discardableResult
    public func store(_ backups: [NewNetwork]) async throws(ClientError) -> BackupList {
        try await ask { client throws(ClientError) in try await client.updateBackups(backups.map { .new($0) }) }
    }

    /// Commands a switch to a network with its password, as for a network that is not stored.
    public func switchNetwork(
        to network: AccessPoint, security: Security? = nil, hidden: Bool = false, confirmWithin: Int? = nil,
        joinOnce: Bool = false
    ) async throws -> SwitchStatus {
        let network = await network.asStored(security: security, hidden: hidden)
        return try await ask { client throws(ClientError) in
            try await client.switchNetwork(to: .new(network), confirmWithin: confirmWithin, joinOnce: joinOnce)
        }
    }

    public func switchNetwork(toStored ssid: SSID, confirmWithin: Int? = nil) async throws -> SwitchStatus {
        try await ask { client throws(ClientError) in
            let stored = try await client.backups().stored.first { $0.ssid == ssid }
            guard let stored else { throw .refused(ProtocolError(.unknownNetwork, "\(ssid) is not stored")) }
            return try await client.switchNetwork(to: .stored(stored.hash), confirmWithin: confirmWithin)
        }
    }

    public func confirm(_ status: SwitchStatus) async throws -> SwitchStatus {
        try await ask { client throws(ClientError) in try await client.confirmSwitch(status.switchId) }
    }

    public func phase(_ phase: SwitchPhase, of status: SwitchStatus, within limit: Duration) async throws {
        try await eventually(within: limit, "switch \(status.switchId) to be \(phase.rawValue)") {
            record.withLock { $0.switches[status.switchId]?.phase == phase }
        }
    }

    public func outcome(of status: SwitchStatus, within limit: Duration) async throws -> SwitchStatus {
        try await eventually(within: limit, "switch \(status.switchId) to end") {
            record.withLock { $0.switches[status.switchId]?.phase.isOutcome ?? false }
        }
        return record.withLock { $0.switches[status.switchId] } ?? status
    }

    // MARK: Reports

    public nonisolated var status: NetworkStatus? { record.withLock { $0.status } }

    public nonisolated var decisions: [Decision] { record.withLock { $0.decisions } }

    /// SSIDs that the device joined since `mark` (a number of decisions), in order.
    public nonisolated func way(since mark: Int = 0) -> [SSID] {
        decisions.dropFirst(mark).filter { $0.kind.rawValue == "join" }.compactMap { $0.to?.ssid }
    }

    /// SSIDs on which the device was online since `mark` (a number of decisions), in order.
    public nonisolated func stations(since mark: Int = 0) -> [SSID] {
        decisions.dropFirst(mark).filter { $0.kind.rawValue == "online" }.compactMap { $0.to?.ssid }
    }

    /// Waits until the device reports that it is online on this network.
    public func online(on network: AccessPoint, within limit: Duration) async throws {
        try await eventually(within: limit, "the device to be online on \(network.ssid)") {
            status?.state == .online && status?.ssid == network.ssid
        }
    }

    /// Waits until the device has seen all of these backups in scans.
    public func seen(_ backups: [AccessPoint], within limit: Duration) async throws {
        let client = try await client()
        try await eventually(within: limit, every: .milliseconds(200), "the device to see its backups") {
            let networks = try await client.backups().networks
            return backups.allSatisfy { backup in networks.contains { $0.ssid == backup.ssid && $0.lastSeen != nil } }
        }
        await client.close()
    }

    @discardableResult
    public func decision(_ kind: String, since mark: Int = 0, within limit: Duration) async throws -> Decision {
        var found: Decision?
        try await eventually(within: limit, "the decision \"\(kind)\"") {
            found = decisions.dropFirst(mark).first { $0.kind.rawValue == kind }
            return found != nil
        }
        guard let found else { throw LabError.timedOut(what: kind, limit: limit) }
        return found
    }
}

extension AccessPoint {
    /// Returns the network as an app stores it.
    /// - Parameter security: security that the owner declares; nil for none.
    public func asStored(
        password: String? = nil, security: Security? = nil, hidden: Bool = false
    ) -> NewNetwork {
        NewNetwork(
            ssid: ssid, password: (password ?? settings.security.password).map(Secret.init(text:)), security: security,
            isHidden: hidden)
    }
}

extension Device {
    /// Connectivity of the current network in the agent's last report.
    public nonisolated var connectivity: Connectivity? { status?.connectivity }

    public func connectivity(
        within limit: Duration, _ what: String, _ condition: (Connectivity) -> Bool
    ) async throws {
        do {
            try await eventually(within: limit, what) { connectivity.map(condition) ?? false }
        } catch {
            throw LabError.unexpected("\(error); it says \(connectivity.map { "\($0)" } ?? "nothing")")
        }
    }

    public func broker(
        _ state: ConnectionState, because reason: ReachProblem? = nil, within limit: Duration
    ) async throws {
        let what = "the broker to be \(state.rawValue)\(reason.map { ", \($0.rawValue)" } ?? "")"
        try await connectivity(within: limit, what) { connectivity in
            connectivity.targets.contains { $0.state == state && $0.reason == reason }
        }
    }

    public func network() async throws(ClientError) -> NetworkStatus {
        try await ask { client throws(ClientError) in try await client.network() }
    }

    public func diagnosis() async throws(ClientError) -> Diagnosis {
        try await ask { client throws(ClientError) in try await client.diagnose() }
    }
}
