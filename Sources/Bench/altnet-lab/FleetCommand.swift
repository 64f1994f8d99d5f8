import AgentModel
import AppProtocol
import ArgumentParser
import Failover
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
            Without --broker a mosquitto of its own is started. Of a broker of several nodes one can be killed by --kill.

            With --staged-change they get a newer password of their network instead, as by 'altnet fleet apply': one in ten a wrong \
            one, and one in twenty loses its power in the middle.
            """)

    @Option(help: "How many devices.")
    var devices = 10_000

    @Option(help: "A broker that there is: mqtt://HOST:PORT, and its other nodes after commas.")
    var broker: String?

    @Flag(help: "Without --broker: by TLS 1.3. Each device checks the broker's certificate.")
    var tls = false

    @Option(help: "Of --broker with mqtts://: the authorities that its certificate is by, as a file (PEM).")
    var authorities: String?

    @Option(help: "Of --broker: a command that kills a node in the middle.")
    var kill: String?

    @Flag(help: "Of --staged-change without --broker: kill the broker in the middle, for 10 s.")
    var killBroker = false

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

    @Option(help: "How many processes the devices are spread over.")
    var processes = 3

    @Option(help: "Of --staged-change: after how many seconds a device gives a password up that was not taken.")
    var keepFor = 300

    @Option(help: "Of --staged-change: the file for a plot, as SVG.")
    var svg: String?

    @Option(help: .hidden)
    var part: Int?

    @Flag(help: "Devices validate their networks, so they notice the outage and its end: it takes a processor.")
    var validating = false

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        guard (1...100_000).contains(rate) else { throw ValidationError("--rate is 1 to 100000") }
        guard (1...64).contains(processes) else { throw ValidationError("--processes is 1 to 64") }
        guard ProtocolLimits.keepFor.contains(keepFor) else { throw ValidationError("--keep-for is 60 to 31536000") }
        guard (1...100_000).contains(devices) else { throw ValidationError("--devices is 1 to 100000") }
        guard broker == nil || !nodes(broker).isEmpty else {
            throw ValidationError("--broker is mqtt://HOST:PORT, and more of that after commas")
        }
        guard broker == nil || !tls, broker != nil || kill == nil && authorities == nil else {
            throw ValidationError("--tls is without --broker, --kill and --authorities are with it")
        }
        guard !killBroker || stagedChange && broker == nil else {
            throw ValidationError("--kill-broker is for --staged-change without --broker")
        }
    }

    private func nodes(_ text: String?) -> [BrokerAddress] {
        let parts = (text ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let nodes = parts.compactMap { BrokerAddress(String($0)) }
        return nodes.count == parts.count ? nodes : []
    }

    func run() throws {
        if let part { return try runPart(from: part) }
        let own = broker == nil ? try OwnBroker(isEncrypted: tls) : nil
        defer { own?.end() }
        try own?.start()
        let workers = try FleetWorkers(
            devices, processes: processes, broker: own?.address ?? broker ?? "",
            authorities: own?.authorities ?? authorities,
            more: ["--scenario", scenario] + (validating ? ["--validating"] : []), rate: rate)
        defer { workers.end() }
        if stagedChange { return try changeStaged(workers, own) }
        try runStory(workers, own)
    }

    private func runStory(_ workers: FleetWorkers, _ own: OwnBroker?) throws {
        var figures: [FleetFigure] = []
        func add(_ name: String, _ value: Double, _ unit: String) {
            figures.append(FleetFigure(name: name, value: value, unit: unit))
            if !json { print("\(name): \(value.rounded(toPlaces: 2)) \(unit)") }
            fflush(nil)
        }
        func noteReturn(_ what: String, since began: Date) throws {
            let before = workers.report
            try workers.wait(within: 300, "back") { $0.returned * 100 >= devices * 99 }
            add("\(what) until 99 % were connected", Date().timeIntervalSince(began), "s")
            try workers.wait(within: 300, "back") { $0.returned == devices }
            add("\(what) until all were connected", Date().timeIntervalSince(began), "s")
            notePeaks(since: began)
            let after = workers.report
            let connects = after.connectsBySecond.values.reduce(0, +) - before.connectsBySecond.values.reduce(0, +)
            add(
                "processor of the devices for each",
                (after.processor - before.processor) / Double(max(1, connects)) * 1000,
                "ms")
            var load = 0.0
            if getloadavg(&load, 1) == 1 { add("load of the machine", load, "") }
        }
        func notePeaks(since began: Date) {
            add("most connections in a second then", peak(workers.report.connectsBySecond, since: began), "/s")
            add("most attempts due in a second then", peak(workers.report.attemptsBySecond, since: began), "/s")
            add("an attempt was late by at most", workers.report.latest, "s")
        }
        var began = Date()
        try workers.wait(within: 600, "connected") { $0.returned == devices }
        add("start until all were connected", Date().timeIntervalSince(began), "s")
        notePeaks(since: began)
        add("memory, per device", memoryOfEach(workers), "KiB")

        let before = workers.report
        began = Date()
        sleep(UInt32(quiet))
        let (after, lived) = (workers.report, Date().timeIntervalSince(began))
        add("messages in quiet", Double(after.published - before.published) / lived, "/s")
        add("processor in quiet", (after.processor - before.processor) / lived * 100, "%")

        workers.send(.cut)
        sleep(2)
        workers.send(.count)
        sleep(UInt32(outage))
        began = Date()
        workers.send(.restore)
        try noteReturn("provider back", since: began)

        if let own {
            own.kill()
            sleep(2)
            workers.send(.count)
            sleep(8)
            began = Date()
            try own.start()
            try noteReturn("broker back", since: began)
        }
        if let kill {
            try run(kill)
            began = Date()
            // The killed node's devices notice it at once.
            sleep(2)
            workers.send(.count)
            sleep(1)
            add("devices without a connection 3 s after", Double(devices - workers.report.connected), "")
            try noteReturn("node killed", since: began)
        }
        add("messages lost", Double(workers.report.lost), "")
        add("memory at the end, per device", memoryOfEach(workers), "KiB")
        for (reason, count) in workers.report.failures.sorted(by: { $0.value > $1.value }).prefix(5) {
            add("failed: \(reason)", Double(count), "")
        }
        if json { try show(figures) }
    }

    private func runPart(from first: Int) throws {
        var settings = Fleet.Settings(
            devices: devices, brokers: nodes(broker), scenario: try ScenarioLibrary.scenario(named: scenario))
        settings.first = first
        settings.authorities = authorities
        if validating { settings.scenario.settings.validation = PolicySettings.Validation() }
        settings.scenario.duration = .seconds(86_400)
        try FleetPart(fleet: Fleet(settings), rate: rate).run()
    }

    private func changeStaged(_ workers: FleetWorkers, _ own: OwnBroker?) throws {
        guard let node = nodes(own?.address ?? broker).first else { throw ValidationError("no broker") }
        let kill: (() throws -> Void)? =
            if killBroker, let own { { own.kill() } } else if let kill { { try run(kill) } } else { nil }
        let result = try RotationFleet(
            workers: workers, broker: node, authorities: own?.authorities ?? authorities, devices: devices,
            keepFor: keepFor, limit: keepFor + 600, kill: kill, restart: { try own?.start() },
            log: { FileHandle.standardError.write(Data(($0 + "\n").utf8)) }
        ).run()
        let outcome = result.outcome
        var figures: [FleetFigure] = []
        func add(_ name: String, _ value: Double, _ unit: String = "") {
            figures.append(FleetFigure(name: name, value: value, unit: unit))
        }
        func seconds(_ part: Double) -> Double { outcome.seconds(untilCommitted: part).map(Double.init) ?? .nan }
        add("devices", Double(outcome.devices))
        add("until all are connected", result.connecting, "s")
        add("until all have answered", result.telling, "s")
        add("until 99 % have confirmed", seconds(0.99), "s")
        add("until all have confirmed", seconds(1), "s")
        add("confirmed, of \(outcome.right)", Double(outcome.committed))
        add("undone, of \(outcome.wrong)", Double(outcome.undone))
        add("power cuts", Double(outcome.cut))
        if let killed = result.killed { add("broker killed after", killed, "s") }
        add("lost", Double(outcome.lost))
        add("until the end", result.total, "s")
        add("memory, per device", Double(outcome.memory) / Double(max(1, outcome.devices)), "KiB")
        add("memory of the owner", Double(result.memory) / 1024, "MiB")
        try show(figures)
        if let svg {
            let plot = RotationPlot(outcome: outcome, title: "A newer password for \(outcome.devices) devices")
            try plot.svg.write(toFile: svg, atomically: true, encoding: .utf8)
        }
        guard outcome.lost == 0, outcome.committed == outcome.right else {
            throw FleetFailure(
                text: "\(outcome.lost) lost, \(outcome.right - outcome.committed) without the newer password")
        }
    }

    private func run(_ command: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw FleetFailure(text: "--kill has failed: \(command)") }
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

    private func memoryOfEach(_ workers: FleetWorkers) -> Double { Double(workers.report.memory) / Double(devices) }

    private func peak(_ bySecond: [Int: Int], since moment: Date) -> Double {
        let second = Int(moment.timeIntervalSince1970)
        return Double(bySecond.filter { $0.key >= second }.values.max() ?? 0)
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
