import AgentModel
import AppProtocol
import BrokerIO
import Fleet
import FleetOperator
import Foundation
import Linux
import MQTTBridge
import Simulation
import Synchronization

/// A newer password for all of a fleet: processes with a part of the devices each, and here the owner, as `altnet fleet apply`
/// is one.
struct StagedFleet {
    let broker: BrokerAddress
    let address: String
    let devices: Int
    let processes: Int
    let rate: Int
    /// In seconds, as in the owner's file.
    let keepFor: Int
    /// When it is given up, in seconds.
    let limit: Int
    let say: (String) -> Void

    static let change = StagedChange(changeId: "2026-12", ssid: "Home", password: "correct-horse-2")

    struct Result {
        var outcome = StagedOutcome()
        /// In seconds: until all were connected, until the owner had all answers, and in all.
        var connecting = 0.0
        var telling = 0.0
        var total = 0.0
        /// In KiB, of the owner.
        var memory = 0
    }

    func run() throws -> Result {
        let began = Date()
        let workers = try (0..<processes).map { index in
            let first = devices * index / processes
            return try Worker(
                first: first, count: devices * (index + 1) / processes - first, broker: address,
                rate: max(1, rate / processes))
        }
        defer { for worker in workers { worker.end() } }
        try wait(within: 600, "were not connected") { workers.allSatisfy { $0.outcome.connected == $0.count } }
        let connecting = Date().timeIntervalSince(began)
        say("all \(devices) are connected")

        for worker in workers { worker.tell("change") }
        let start = Date()
        var owner = try Owner(broker, devices: devices, keepFor: keepFor)
        defer { owner.end() }
        var telling: Double?
        var told = 0
        var looked = start
        let end = start.addingTimeInterval(Double(limit))
        var sum = StagedOutcome()
        while Date() < end {
            try owner.turn()
            // What is counted over all devices is counted once a second.
            guard looked.timeIntervalSinceNow < -1 else { continue }
            looked = Date()
            sum = workers.map(\.outcome).reduce(StagedOutcome(), +)
            let seconds = Int(Date().timeIntervalSince(start))
            if telling == nil, owner.isTold { telling = Date().timeIntervalSince(start) }
            if seconds >= told + 10 {
                told = seconds
                say(
                    "\(seconds) s: \(sum.committed) of \(sum.right) committed, \(sum.undone) of \(sum.wrong) undone, "
                        + "\(sum.cut) power cuts, \(sum.connected) connected")
            }
            if sum.devices == devices, sum.committed + sum.undone == devices, sum.connected == devices, owner.isOver {
                break
            }
        }
        return Result(
            outcome: sum, connecting: connecting, telling: telling ?? .nan, total: Date().timeIntervalSince(start),
            memory: residentKiB())
    }

    private func wait(within seconds: Int, _ what: String, until isSo: () -> Bool) throws {
        let end = Date(timeIntervalSinceNow: Double(seconds))
        while !isSo() {
            guard Date() < end else { throw FleetFailure(text: "devices \(what) after \(seconds) s") }
            usleep(100_000)
        }
    }
}

/// The owner: one connection, one change.
private struct Owner {
    var rollout: Rollout
    private var connection: OwnerConnection
    private var kept = KeptMessages()

    init(_ broker: BrokerAddress, devices: Int, keepFor: Int) throws {
        let change = StagedFleet.change
        let staging = PasswordStaging(
            changeId: change.changeId,
            network: NewNetwork(ssid: try SSID(change.ssid), password: Secret(text: change.password)), keepFor: keepFor)
        var keys: [String: DeviceKey] = [:]
        for number in 0..<devices { keys[Fleet.id(number)] = try Fleet.key(of: number) }
        let run = String(UInt64.random(in: 0 ... .max), radix: 36)
        rollout = Rollout(FleetChange(staging), .apply, keys: keys, run: run, nonce: Nonce.random)
        connection = OwnerConnection(broker, user: nil, BrokerSecrets(authorities: nil), run: run)
    }

    /// Whether each device has answered.
    var isTold: Bool { rollout.record[.waiting] == 0 }
    var isOver: Bool { rollout.isOver }

    mutating func turn() throws {
        let next = [rollout.deadline, .now + .milliseconds(200)].compactMap(\.self).min()
        for news in connection.wait(until: next) {
            switch news {
            case .connected: connection.subscribe(rollout.subscriptions)
            case .message(let message): connection.publish(rollout.hear(message, at: .now))
            case .lost: rollout.lost()
            case .refused(let reason): throw FleetFailure(text: "the broker refuses: \(reason)")
            }
        }
        if let deadline = rollout.deadline, deadline <= .now { connection.publish(rollout.tick(at: .now)) }
    }

    func end() { connection.end() }
}

/// A process with a part of the devices.
private final class Worker: Sendable {
    let count: Int
    private let process: Process
    private let input: FileHandle
    private let last = Mutex(StagedOutcome())

    var outcome: StagedOutcome { last.withLock { $0 } }

    init(first: Int, count: Int, broker: String, rate: Int) throws {
        self.count = count
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "fleet", "--staged-part", "\(first)", "--devices", "\(count)", "--broker", broker, "--rate", "\(rate)",
        ]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        self.process = process
        self.input = input.fileHandleForWriting
        try process.run()
        let reading = output.fileHandleForReading.fileDescriptor
        let descriptor = dup(reading)
        Thread.detachNewThread { [self] in
            guard let file = fdopen(descriptor, "r") else { return }
            defer { fclose(file) }
            var buffer: UnsafeMutablePointer<CChar>?
            var size = 0
            defer { free(buffer) }
            while getline(&buffer, &size, file) > 0 {
                guard let buffer,
                    let outcome = try? JSONDecoder().decode(
                        StagedOutcome.self, from: Data(String(cString: buffer).utf8))
                else { continue }
                last.withLock { $0 = outcome }
            }
        }
    }

    func tell(_ word: String) { input.write(Data((word + "\n").utf8)) }

    func end() {
        try? input.close()
        process.waitUntilExit()
    }
}

/// The part of a worker: tells how it stands once a second, begins the change when it is told to, and ends with its input.
struct StagedPart {
    let fleet: Fleet
    let rate: Int

    func run() throws {
        fleet.start(rate)
        var isOver = false
        while !isOver {
            _ = fleet.run(until: { Readiness.readable.wait(on: STDIN_FILENO, within: .zero) }, within: .seconds(1))
            if Readiness.readable.wait(on: STDIN_FILENO, within: .zero) {
                var bytes = [UInt8](repeating: 0, count: 64)
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                if count > 0 { fleet.begin(StagedFleet.change) } else { isOver = true }
            }
            var outcome = fleet.stagedOutcome
            outcome.memory = residentKiB()
            let line = try JSONEncoder().encode(outcome) + Data("\n".utf8)
            guard (try? FileHandle.standardOutput.write(contentsOf: line)) != nil else { return }
        }
    }
}

/// What this process has in memory (statm in proc(5)).
func residentKiB() -> Int {
    let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii))?.split(separator: " ") ?? []
    guard words.count > 1, let pages = Int(words[1]) else { return 0 }
    return pages * sysconf(Int32(_SC_PAGESIZE)) / 1024
}

/// How many devices have the newer password alone, over the time since the change began.
struct StagedPlot {
    let outcome: StagedOutcome
    let title: String

    private static let width = 720.0
    private static let height = 320.0
    private static let (left, right, top, bottom) = (64.0, 24.0, 64.0, 48.0)

    var svg: String {
        var drawing = SVGDrawing()
        let seconds = max(60, (outcome.committedBySecond.keys.max() ?? 0) / 60 * 60 + 60)
        let (wide, high) = (Self.width - Self.left - Self.right, Self.height - Self.top - Self.bottom)
        func x(_ second: Int) -> Double { Self.left + wide * Double(second) / Double(seconds) }
        func y(_ part: Double) -> Double { Self.top + high * (1 - part) }
        drawing.text(title, Self.left, 28, .init(size: 16, isBold: true))
        drawing.text(
            "Share of the devices whose router has it: it is theirs alone, by seconds since the change began.",
            Self.left, 48, .init(size: 12, colour: Palette.faintInk))
        for percent in stride(from: 0, through: 100, by: 25) {
            let line = y(Double(percent) / 100)
            drawing.line(Self.left, line, Self.width - Self.right, line, .init(colour: Palette.rule, width: 1))
            drawing.text(
                "\(percent) %", Self.left - 8, line + 4, .init(size: 12, colour: Palette.faintInk, anchor: .end))
        }
        let step = seconds <= 300 ? 60 : seconds / 5 / 60 * 60
        for second in stride(from: 0, through: seconds, by: step) {
            drawing.text(
                "\(second) s", x(second), Self.height - Self.bottom + 20,
                .init(size: 12, colour: Palette.faintInk, anchor: .middle))
        }
        var sum = 0
        var points = [(x: x(0), y: y(0))]
        for second in 0...seconds {
            sum += outcome.committedBySecond[second] ?? 0
            points.append((x(second), y(Double(sum) / Double(max(1, outcome.right)))))
        }
        drawing.path([points], .init(colour: Palette.ink, width: 2))
        if let most = outcome.seconds(untilCommitted: 0.99) {
            drawing.line(
                x(most), y(0), x(most), y(1), .init(colour: Palette.faintInk, width: 1, dashes: "4 3"))
            drawing.text(
                "99 % after \(most) s", x(most) - 6, y(0.5), .init(size: 12, anchor: .end, hasRim: true))
        }
        return drawing.document(width: Self.width, height: Self.height, title: title)
    }
}
