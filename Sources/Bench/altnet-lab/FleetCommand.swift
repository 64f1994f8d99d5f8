import AgentModel
import ArgumentParser
import Fleet
import Foundation
import Linux
import MQTTBridge
import Simulation

struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet", abstract: "Runs thousands of devices against a real broker.",
        discussion: """
            Each is the agent's core in a simulated world, with the bridge to MQTT of altnet-mqtt and a connection of its own. \
            They start, live for a while, lose their provider and get it back, and lose their broker and get it back. \
            Without --broker a mosquitto of its own is started.
            """)

    @Option(help: "How many devices.")
    var devices = 10_000

    @Option(help: "A broker that there is: mqtt://HOST:PORT. It is not killed.")
    var broker: String?

    @Option(help: "How many devices are switched on in a second.")
    var rate = 500

    @Option(help: "How long they live in quiet, in seconds.")
    var quiet = 20

    @Option(help: "How long the provider is down, in seconds.")
    var outage = 30

    @Option(help: "The scenario of each device.")
    var scenario = "quiet"

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        guard (1...100_000).contains(rate) else { throw ValidationError("--rate is 1 to 100000") }
        guard (1...100_000).contains(devices) else { throw ValidationError("--devices is 1 to 100000") }
        guard broker.map({ BrokerAddress($0) != nil }) ?? true else {
            throw ValidationError("--broker is mqtt://HOST:PORT")
        }
    }

    func run() throws {
        let own = broker == nil ? try OwnBroker() : nil
        defer { own?.end() }
        guard let address = BrokerAddress(broker ?? own?.address ?? "") else { throw ValidationError("no broker") }
        var settings = Fleet.Settings(
            devices: devices, broker: address, scenario: try ScenarioLibrary.scenario(named: scenario))
        settings.scenario.duration = .seconds(86_400)
        let fleet = try Fleet(settings)
        try own?.start()
        var figures: [FleetFigure] = []
        func note(_ name: String, _ value: Double, _ unit: String) {
            figures.append(FleetFigure(name: name, value: value, unit: unit))
            if !json { print("\(name): \(value.rounded(toPlaces: 2)) \(unit)") }
            fflush(nil)
        }
        note("memory before the start, per device", memoryOfEach, "KiB")
        var first = fleet.seconds
        var began = Date()
        fleet.start(rate)
        guard fleet.run(until: { fleet.connected == devices }, within: .seconds(300)) else {
            throw FleetFailure(text: "\(fleet.connected) of \(devices) were connected after 300 s")
        }
        note("start until all are connected", Date().timeIntervalSince(began), "s")
        note("most connections in a second then", Double(peak(fleet, since: first)), "/s")
        note("memory, per device", memoryOfEach, "KiB")

        let published = fleet.published
        let processor = clock()
        began = Date()
        _ = fleet.run(within: .seconds(Int64(quiet)))
        let lived = Date().timeIntervalSince(began)
        note("messages in quiet", Double(fleet.published - published) / lived, "/s")
        note("processor in quiet", Double(clock() - processor) / Double(CLOCKS_PER_SEC) / lived * 100, "%")

        fleet.cut()
        _ = fleet.run(within: .seconds(Int64(outage)))
        first = fleet.seconds
        began = Date()
        fleet.restore()
        note("provider back until 99 % are connected", try returns(fleet, began), "s")
        note("provider back until all are connected", Date().timeIntervalSince(began), "s")
        note("most connections in a second then", Double(peak(fleet, since: first)), "/s")

        if let own {
            own.kill()
            _ = fleet.run(within: .seconds(10))
            try own.start()
            first = fleet.seconds
            began = Date()
            note("broker back until 99 % are connected", try returns(fleet, began), "s")
            note("broker back until all are connected", Date().timeIntervalSince(began), "s")
            note("most connections in a second then", Double(peak(fleet, since: first)), "/s")
        }
        note("messages lost", Double(fleet.lostMessages), "")
        note("memory at the end, per device", memoryOfEach, "KiB")
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            print(String(decoding: try encoder.encode(figures), as: UTF8.self))
        }
    }

    /// Goes on until all are connected again.
    /// - Returns: after how many seconds 99 % were.
    private func returns(_ fleet: Fleet, _ began: Date) throws -> Double {
        guard fleet.run(until: { fleet.connected * 100 >= devices * 99 }, within: .seconds(300)) else {
            throw FleetFailure(text: "\(fleet.connected) of \(devices) were back after 300 s")
        }
        let time = Date().timeIntervalSince(began)
        guard fleet.run(until: { fleet.connected == devices }, within: .seconds(300)) else {
            throw FleetFailure(text: "\(fleet.connected) of \(devices) were back after 600 s")
        }
        return time
    }

    /// What this process has in memory, of each device, in KiB (statm in proc(5)).
    private var memoryOfEach: Double {
        let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii))?.split(separator: " ") ?? []
        guard words.count > 1, let pages = Int(words[1]) else { return .nan }
        return Double(pages * sysconf(Int32(_SC_PAGESIZE))) / Double(devices) / 1024
    }

    private func peak(_ fleet: Fleet, since second: Int) -> Int {
        fleet.connectsBySecond.filter { $0.key >= second }.values.max() ?? 0
    }
}

struct FleetFailure: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}

private struct FleetFigure: Codable {
    let name: String
    let value: Double
    let unit: String
}

extension Double {
    fileprivate func rounded(toPlaces places: Int) -> Double {
        let factor = pow(10, Double(places))
        return (self * factor).rounded() / factor
    }
}

/// A mosquitto of the fleet's own.
private final class OwnBroker {
    private let folder: String
    private let port = 40_000 + Int(getpid() % 20_000)
    private var process: Process?

    var address: String { "mqtt://127.0.0.1:\(port)" }

    init() throws {
        folder = NSTemporaryDirectory() + "altnet-fleet-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let settings = """
            listener \(port) 127.0.0.1
            allow_anonymous true
            max_connections -1
            persistence false
            max_queued_messages 0
            """
        try settings.write(toFile: folder + "/mosquitto.conf", atomically: true, encoding: .utf8)
    }

    func start() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/sbin/mosquitto")
        process.arguments = ["-c", folder + "/mosquitto.conf"]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        usleep(300_000)
        guard process.isRunning else { throw FleetFailure(text: "mosquitto does not start on port \(port)") }
        self.process = process
    }

    func kill() {
        guard let process else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    func end() {
        kill()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
