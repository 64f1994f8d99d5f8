import Fleet
import Foundation
import Linux
import Synchronization

enum FleetOrder: Codable {
    /// Cuts the provider's internet access.
    case cut
    /// Restores the provider's internet access.
    case restore
    /// Restarts the count of returned devices.
    case count
    /// Starts the change of the password.
    case change
    /// Starts the upgrade of each n-th device to a release.
    case upgrade(Release, every: Int)
}

/// State of the devices of one process or of all processes.
struct FleetReport: Codable {
    /// Number of devices that are connected now.
    var connected = 0
    /// Number of devices that have been connected since the last `count`. Some may be switching networks now.
    var returned = 0
    /// Number of messages sent to the broker.
    var published = 0
    /// Number of messages dropped for lack of space.
    var lost = 0
    /// Resident memory in KiB.
    var memory = 0
    /// Processor time in seconds.
    var processor = 0.0
    /// Number of accepted connections, by second since 1970.
    var connectsBySecond: [Int: Int] = [:]
    /// Number of connection attempts, by the second since 1970 in which they were due.
    var attemptsBySecond: [Int: Int] = [:]
    /// Longest delay of a connection attempt since the last `count`, in seconds.
    var latest = 0.0
    var failures: [String: Int] = [:]
    var staged = RotationOutcome()
    var upgrade = UpgradeOutcome()

    static func + (left: FleetReport, right: FleetReport) -> FleetReport {
        var sum = left
        sum.connected += right.connected
        sum.returned += right.returned
        sum.published += right.published
        sum.lost += right.lost
        sum.memory += right.memory
        sum.processor += right.processor
        sum.connectsBySecond.merge(right.connectsBySecond, uniquingKeysWith: +)
        sum.attemptsBySecond.merge(right.attemptsBySecond, uniquingKeysWith: +)
        sum.latest = max(left.latest, right.latest)
        sum.failures.merge(right.failures, uniquingKeysWith: +)
        sum.staged = left.staged + right.staged
        sum.upgrade = left.upgrade + right.upgrade
        return sum
    }
}

/// Distributes the devices of a fleet over worker processes.
struct FleetWorkers {
    private let workers: [Worker]

    /// - Parameters:
    ///   - broker: nodes of the broker, in the format of `--broker`.
    ///   - more: further options of `altnet-lab fleet`.
    ///   - rate: number of devices to switch on per second.
    init(_ devices: Int, processes: Int, broker: String, authorities: String?, more: [String], rate: Int) throws {
        workers = try (0..<processes).map { index in
            let first = devices * index / processes
            var arguments = [
                "fleet", "--part", "\(first)", "--devices", "\(devices * (index + 1) / processes - first)",
                "--broker", broker, "--rate", "\(max(1, rate / processes))",
            ]
            arguments += more
            if let authorities { arguments += ["--authorities", authorities] }
            return try Worker(arguments)
        }
    }

    var report: FleetReport { workers.map(\.report).reduce(FleetReport(), +) }

    func send(_ order: FleetOrder) { for worker in workers { worker.send(order) } }

    /// Waits until `isSo` is true for the sum of all processes.
    /// - Parameter what: expected state of the devices, for the error.
    /// - Throws: `FleetFailure` after the time limit, or if a process has ended.
    func wait(within seconds: Int, _ what: String, until isSo: (FleetReport) -> Bool) throws {
        let end = Date(timeIntervalSinceNow: Double(seconds))
        while !isSo(report) {
            guard workers.allSatisfy(\.isRunning) else {
                throw FleetFailure(text: "a process with simulated devices ended")
            }
            guard Date() < end else {
                throw FleetFailure(text: "\(report.returned) devices were \(what) after \(seconds) s")
            }
            usleep(50_000)
        }
    }

    func end() { for worker in workers { worker.end() } }
}

private final class Worker: Sendable {
    private let process: Process
    private let input: FileHandle
    private let last = Mutex(FleetReport())

    var report: FleetReport { last.withLock { $0 } }
    var isRunning: Bool { process.isRunning }

    init(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        self.process = process
        self.input = input.fileHandleForWriting
        try process.run()
        let descriptor = dup(output.fileHandleForReading.fileDescriptor)
        Thread.detachNewThread { [self] in
            guard let file = fdopen(descriptor, "r") else { return }
            defer { fclose(file) }
            var buffer: UnsafeMutablePointer<CChar>?
            var size = 0
            defer { free(buffer) }
            while getline(&buffer, &size, file) > 0 {
                guard let buffer,
                    let report = try? JSONDecoder().decode(FleetReport.self, from: Data(String(cString: buffer).utf8))
                else { continue }
                last.withLock { $0 = report }
            }
        }
    }

    func send(_ order: FleetOrder) {
        if let line = try? JSONEncoder().encode(order) { input.write(line + Data("\n".utf8)) }
    }

    func end() {
        try? input.close()
        process.waitUntilExit()
    }
}

/// Main loop of a worker. It reports five times a second, performs orders, and ends with its input.
struct FleetPart {
    let fleet: Fleet
    let rate: Int

    func run() throws {
        fleet.start(rate)
        var isOver = false
        while !isOver {
            _ = fleet.run(
                until: { Readiness.readable.wait(on: STDIN_FILENO, within: .zero) }, within: .milliseconds(200))
            if Readiness.readable.wait(on: STDIN_FILENO, within: .zero) {
                var bytes = [UInt8](repeating: 0, count: 256)
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                isOver = count <= 0
                for line in bytes.prefix(max(0, count)).split(separator: UInt8(ascii: "\n")) {
                    perform(try JSONDecoder().decode(FleetOrder.self, from: Data(line)))
                }
            }
            let line = try JSONEncoder().encode(report) + Data("\n".utf8)
            guard (try? FileHandle.standardOutput.write(contentsOf: line)) != nil else { return }
        }
    }

    private func perform(_ order: FleetOrder) {
        switch order {
        case .cut: fleet.cut()
        case .restore: fleet.restore()
        case .count: fleet.countReturns()
        case .change: fleet.begin(RotationFleet.change)
        case .upgrade(let release, let every): fleet.upgrade(to: release, every: every, within: UpgradeFleet.spread)
        }
    }

    private var report: FleetReport {
        var report = FleetReport()
        report.connected = fleet.connected
        report.returned = fleet.returned
        report.published = fleet.published
        report.lost = fleet.lostMessages
        report.memory = residentKiB()
        report.processor = Double(clock()) / Double(CLOCKS_PER_SEC)
        report.connectsBySecond = fleet.connectsBySecond
        report.attemptsBySecond = fleet.attemptsBySecond
        report.latest = Double(fleet.latest.milliseconds) / 1000
        report.failures = fleet.failures
        report.staged = fleet.stagedOutcome
        report.staged.memory = report.memory
        report.upgrade = fleet.upgradeOutcome
        return report
    }
}

/// Returns the resident memory of this process in KiB (statm in proc(5)).
func residentKiB() -> Int {
    let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii))?.split(separator: " ") ?? []
    guard words.count > 1, let pages = Int(words[1]) else { return 0 }
    return pages * sysconf(Int32(_SC_PAGESIZE)) / 1024
}
