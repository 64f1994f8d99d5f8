import AgentModel
import AppProtocol
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

            With --staged-change they get a newer password of their network instead, as by 'altnet fleet apply': one in ten a wrong \
            one, and one in twenty loses its power in the middle.
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

    @Flag(help: "Change a password for all of them.")
    var stagedChange = false

    @Option(help: "Of --staged-change: how many processes the devices are spread over.")
    var processes = 3

    @Option(help: "Of --staged-change: after how many seconds a device gives a password up that was not taken.")
    var keepFor = 300

    @Option(help: "Of --staged-change: the file for a plot, as SVG.")
    var svg: String?

    @Option(help: .hidden)
    var stagedPart: Int?

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        guard (1...100_000).contains(rate) else { throw ValidationError("--rate is 1 to 100000") }
        guard (1...64).contains(processes) else { throw ValidationError("--processes is 1 to 64") }
        guard ProtocolLimits.keepFor.contains(keepFor) else { throw ValidationError("--keep-for is 60 to 31536000") }
        guard (1...100_000).contains(devices) else { throw ValidationError("--devices is 1 to 100000") }
        guard broker.map({ BrokerAddress($0) != nil }) ?? true else {
            throw ValidationError("--broker is mqtt://HOST:PORT")
        }
    }

    func run() throws {
        if let stagedPart { return try runPart(from: stagedPart) }
        if stagedChange { return try changeStaged() }
        let own = broker == nil ? try OwnBroker() : nil
        defer { own?.end() }
        guard let address = BrokerAddress(broker ?? own?.address ?? "") else { throw ValidationError("no broker") }
        let fleet = try Fleet(settings(address))
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
        if json { try show(figures) }
    }

    private func settings(_ address: BrokerAddress) throws -> Fleet.Settings {
        var settings = Fleet.Settings(
            devices: devices, broker: address, scenario: try ScenarioLibrary.scenario(named: scenario))
        settings.scenario.duration = .seconds(86_400)
        return settings
    }

    private func runPart(from first: Int) throws {
        guard let address = broker.flatMap(BrokerAddress.init) else { throw ValidationError("no broker") }
        var settings = try settings(address)
        settings.first = first
        try StagedPart(fleet: Fleet(settings), rate: rate).run()
    }

    private func changeStaged() throws {
        let own = broker == nil ? try OwnBroker() : nil
        defer { own?.end() }
        guard let text = broker ?? own?.address, let address = BrokerAddress(text) else {
            throw ValidationError("no broker")
        }
        try own?.start()
        let result = try StagedFleet(
            broker: address, address: text, devices: devices, processes: processes, rate: rate, keepFor: keepFor,
            limit: keepFor + 600, say: { FileHandle.standardError.write(Data(($0 + "\n").utf8)) }
        ).run()
        let outcome = result.outcome
        var figures: [FleetFigure] = []
        func note(_ name: String, _ value: Double, _ unit: String = "") {
            figures.append(FleetFigure(name: name, value: value, unit: unit))
        }
        func seconds(_ part: Double) -> Double { outcome.seconds(untilCommitted: part).map(Double.init) ?? .nan }
        note("devices", Double(outcome.devices))
        note("until all are connected", result.connecting, "s")
        note("until all have answered", result.telling, "s")
        note("until 99 % have confirmed", seconds(0.99), "s")
        note("until all have confirmed", seconds(1), "s")
        note("confirmed, of \(outcome.right)", Double(outcome.committed))
        note("undone, of \(outcome.wrong)", Double(outcome.undone))
        note("power cuts", Double(outcome.cut))
        note("lost", Double(outcome.lost))
        note("until the end", result.total, "s")
        note("memory, per device", Double(outcome.memory) / Double(max(1, outcome.devices)), "KiB")
        note("memory of the owner", Double(result.memory) / 1024, "MiB")
        try show(figures)
        if let svg {
            let plot = StagedPlot(outcome: outcome, title: "A newer password for \(outcome.devices) devices")
            try plot.svg.write(toFile: svg, atomically: true, encoding: .utf8)
        }
        guard outcome.lost == 0, outcome.committed == outcome.right else {
            throw FleetFailure(
                text: "\(outcome.lost) lost, \(outcome.right - outcome.committed) without the newer password")
        }
    }

    private func show(_ figures: [FleetFigure]) throws {
        guard json else {
            for figure in figures { print("\(figure.name): \(figure.value.rounded(toPlaces: 2)) \(figure.unit)") }
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "none")
        print(String(decoding: try encoder.encode(figures), as: UTF8.self))
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

    /// What this process has in memory, of each device, in KiB.
    private var memoryOfEach: Double { Double(residentKiB()) / Double(devices) }

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
