import Agent
import AppProtocol
import ArgumentParser
import Dispatch
import Failover
import Fleet
import Foundation
import MQTTBridge
import Simulation
import Synchronization

struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet", abstract: "Runs thousands of devices against a real broker.",
        discussion: """
            Each device is the agent's core in a simulated world, with the MQTT bridge of altnet-mqtt and its own \
            connection. The devices start, run quietly, lose their provider and get it back, and lose their broker and \
            get it back. Without --broker the command starts a mosquitto. --kill stops one node of a broker.

            With --staged-change the devices get a newer password of their network instead, as from 'altnet fleet \
            apply'. One in ten gets a wrong password, and one in twenty loses power during the change.

            With --upgrade their programs are replaced in stages, first by a version that fails on a quarter of the \
            devices. The operator sees only the broker's messages.

            With --days the broker and the time are simulated: two outages of the provider a day, a killed node of the \
            broker each night, and a newer password in the middle.
            """)

    @Option(help: "The number of devices.")
    var devices = 10_000

    @Option(help: "Use this broker: mqtt://HOST:PORT, further nodes after commas.")
    var broker: String?

    @Flag(help: "Without --broker: use TLS 1.3. Each device checks the broker's certificate.")
    var tls = false

    @Option(help: "With --broker mqtts://: a file with the authorities of its certificate (PEM).")
    var authorities: String?

    @Option(help: "With --broker: a command that stops one of its nodes during the run.")
    var kill: String?

    @Flag(help: "With --staged-change, without --broker: stop the broker for 10 s during the run.")
    var killBroker = false

    @Option(help: "Devices to switch on per second.")
    var rate = 500

    @Option(help: "Seconds without disturbance.")
    var quiet = 20

    @Option(help: "Seconds for which the provider is down.")
    var outage = 30

    @Option(help: "The scenario of each device.")
    var scenario = "quiet"

    @Flag(help: "Change the password of all devices' networks.")
    var stagedChange = false

    @Flag(help: "Upgrade all devices in stages.")
    var upgrade = false

    @Option(help: "Simulate this many days, in virtual time and without a real broker.")
    var days: Int?

    @Option(help: "Processes to spread the devices over (with --days: threads).")
    var processes = 3

    @Option(help: "With --staged-change: seconds until a device drops a password that no network accepted.")
    var keepFor = 300

    @Option(help: "With --staged-change: write a plot (SVG) to this file.")
    var svg: String?

    @Option(help: .hidden)
    var part: Int?

    @Flag(
        help:
            "Let devices validate their networks, so that they notice the outage and its end. Takes processor time."
    )
    var validating = false

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        guard (1...100_000).contains(rate) else { throw ValidationError("--rate must be 1 to 100000") }
        guard (1...64).contains(processes) else { throw ValidationError("--processes must be 1 to 64") }
        guard ProtocolLimits.keepFor.contains(keepFor) else {
            throw ValidationError("--keep-for must be 60 to 31536000 seconds")
        }
        guard days.map({ (1...366).contains($0) }) ?? true else { throw ValidationError("--days must be 1 to 366") }
        guard days == nil || broker == nil && !tls else { throw ValidationError("--days excludes --broker and --tls") }
        guard [days != nil, upgrade, stagedChange].count(where: { $0 }) < 2 else {
            throw ValidationError("give one of --days, --upgrade and --staged-change")
        }
        guard (1...100_000).contains(devices) else { throw ValidationError("--devices must be 1 to 100000") }
        guard broker == nil || !nodes(broker).isEmpty else {
            throw ValidationError("--broker must be mqtt://HOST:PORT, with further nodes after commas")
        }
        guard broker == nil || !tls, broker != nil || kill == nil && authorities == nil else {
            throw ValidationError("--tls excludes --broker; --kill and --authorities need --broker")
        }
        guard !killBroker || stagedChange && broker == nil else {
            throw ValidationError("--kill-broker needs --staged-change and excludes --broker")
        }
    }

    private func nodes(_ text: String?) -> [BrokerAddress] {
        let parts = (text ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let nodes = parts.compactMap { BrokerAddress(String($0)) }
        return nodes.count == parts.count ? nodes : []
    }

    func run() throws {
        if let part { return try runPart(from: part) }
        if let days { return try simulate(days) }
        let own = broker == nil ? try OwnBroker(isEncrypted: tls) : nil
        defer { own?.end() }
        try own?.start()
        let workers = try FleetWorkers(
            devices, processes: processes, broker: own?.address ?? broker ?? "",
            authorities: own?.authorities ?? authorities,
            more: ["--scenario", scenario] + (validating ? ["--validating"] : []), rate: rate)
        defer { workers.end() }
        if stagedChange { return try changeStaged(workers, own) }
        if upgrade { return try upgradeStages(workers, own) }
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
            // The devices of the killed node notice the loss at once.
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
        var settings = Fleet.Settings(devices: devices, scenario: try world)
        settings.first = first
        let memory = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        settings.keyFiles = memory + "/altnet-fleet-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: settings.keyFiles) }
        let transport = try BrokerTransport(devices: devices, brokers: nodes(broker), authorities: authorities)
        try FleetPart(fleet: Fleet(settings, over: transport), rate: rate).run()
    }

    private var world: Scenario {
        get throws {
            var world = try ScenarioLibrary.scenario(named: scenario)
            if validating { world.settings.validation = PolicySettings.Validation() }
            world.duration = .seconds(86_400)
            return world
        }
    }

    // MARK: Upgrade

    private func upgradeStages(_ workers: FleetWorkers, _ own: OwnBroker?) throws {
        guard let node = nodes(own?.address ?? broker).first else { throw ValidationError("no broker") }
        let fleet = UpgradeFleet(
            workers: workers, broker: node, authorities: own?.authorities ?? authorities, devices: devices)
        try workers.wait(within: 600, "connected") { $0.connected == devices }
        // Do not count the connections of the start.
        sleep(2)
        let began = Date()
        let bad = try fleet.run(to: Release("9.0.0", isBad: true), from: Version.current)
        let good = try fleet.run(to: Release("9.0.1"), from: Version.current)
        let (outcome, report) = (workers.report.upgrade, workers.report)
        let peak = peak(report.connectsBySecond, since: began)
        var figures: [FleetFigure] = []
        func add(_ name: String, _ value: Double, _ unit: String = "") {
            figures.append(FleetFigure(name: name, value: value, unit: unit))
        }
        for stage in bad.results + good.results {
            let name = "\(stage.version) on \(stage.devices)"
            add("\(name), online with it", Double(stage.upgraded))
            add("\(name), online with the version before", Double(stage.undone))
            add("\(name), not online", Double(stage.missing))
            add("\(name), decided after", Double(stage.seconds), "s")
        }
        add("trials confirmed", Double(outcome.confirmed))
        add("trials undone", Double(outcome.undone))
        add("power cuts during a trial", Double(outcome.powerCuts))
        add("starts on another version's key file", Double(outcome.handovers))
        add("of these with a changed state", Double(outcome.changedStates))
        add("most connections in a second", peak, "/s")
        add("messages lost", Double(report.lost))
        add("lost", Double(devices - report.connected))
        try show(figures)
        guard bad.isTakenBack, bad.results.count == 2, !good.isTakenBack, good.results.last?.upgraded == devices,
            outcome.changedStates == 0, report.connected == devices, Int(peak) <= FleetWeek.budget(of: devices)
        else { throw FleetFailure(text: "the upgrade has missed a goal") }
    }

    // MARK: Days

    private func simulate(_ days: Int) throws {
        let (count, world) = (devices / processes, try world)
        let parts = (0..<processes).map { index in
            var part = FleetWeek.Settings(
                devices: index == processes - 1 ? devices - count * index : count, scenario: world)
            (part.first, part.days) = (count * index, days)
            return part
        }
        let began = Date()
        let results = Mutex<[Result<FleetWeek.Result, any Error>]>([])
        DispatchQueue.concurrentPerform(iterations: processes) { index in
            let result = Result {
                var week = try FleetWeek(parts[index])
                return try week.run { if index == 0 { FileHandle.standardError.write(Data(($0 + "\n").utf8)) } }
            }
            results.withLock { $0.append(result) }
        }
        let sum = try results.withLock { $0 }.map { try $0.get() }.reduce(FleetWeek.Result(), +)
        let rotation = sum.rotation
        var figures: [FleetFigure] = []
        func add(_ name: String, _ value: Double, _ unit: String = "") {
            figures.append(FleetFigure(name: name, value: value, unit: unit))
        }
        add("devices", Double(devices))
        add("outages", Double(sum.outages))
        add("killed nodes", Double(sum.nodesKilled))
        add("connections cut by them", Double(sum.cutOff))
        add("longest time until all were back", sum.longestReturn, "s")
        add("devices not back within \(FleetWeek.returnLimit.components.seconds) s", Double(sum.late))
        add("connections", Double(sum.connects))
        add("most attempts in a second", Double(sum.attemptPeak), "/s")
        add("most connections in a second", Double(sum.peak), "/s")
        add("only the newer password, of \(rotation.right)", Double(rotation.committed))
        add("undone, of \(rotation.wrong)", Double(rotation.undone))
        add("power cuts", Double(rotation.cut))
        add("committed by the owner's record", Double(sum.operatorCommitted))
        add("undone by the owner's record", Double(sum.operatorUndone))
        add("messages lost", Double(sum.lostMessages))
        add("lost", Double(rotation.lost))
        add("took", Date().timeIntervalSince(began), "s")
        add("memory, per device", Double(residentKiB()) / Double(devices), "KiB")
        try show(figures)
        guard sum.late == 0, rotation.lost == 0, rotation.committed == rotation.right,
            rotation.undone == rotation.wrong, sum.peak <= FleetWeek.budget(of: devices)
        else { throw FleetFailure(text: "the simulation has missed a goal") }
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
        guard process.terminationStatus == 0 else {
            throw FleetFailure(text: "the command of --kill failed: \(command)")
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
