import AgentModel
import AppProtocol
import BrokerIO
import Fleet
import FleetOperator
import Foundation
import Linux
import MQTTBridge
import Simulation

/// Changes the password of a whole fleet. Worker processes run the devices. This process runs the owner, like `altnet
/// fleet apply`.
struct RotationFleet {
    let workers: FleetWorkers
    let broker: BrokerAddress
    let authorities: String?
    let devices: Int
    /// Seconds for which devices keep both passwords, as in the owner's file.
    let keepFor: Int
    /// Time limit of the change, in seconds.
    let limit: Int
    /// Kills a node of the broker. Called when half of the devices have answered; nil for no kill.
    let kill: (() throws -> Void)?
    /// Restarts the broker, if this command started it.
    let restart: () throws -> Void
    let log: (String) -> Void

    /// Time from the kill of the broker to its restart, in seconds.
    private static let downTime = 10.0
    static let change = RotationChange(changeId: "2026-12", ssid: "Home", password: "correct-horse-2")

    struct Result {
        var outcome = RotationOutcome()
        /// Seconds until all devices were connected.
        var connecting = 0.0
        /// Seconds from the change until the owner had all answers.
        var telling = 0.0
        /// Seconds from the change until its end.
        var total = 0.0
        /// Time of the broker's kill, in seconds since the change.
        var killed: Double?
        /// Resident memory of the owner's process, in KiB.
        var memory = 0
    }

    func run() throws -> Result {
        let began = Date()
        try workers.wait(within: 600, "connected") { $0.connected == devices }
        let connecting = Date().timeIntervalSince(began)
        log("all \(devices) are connected")

        workers.send(.change)
        let start = Date()
        var owner = try Owner(broker, authorities, devices: devices, keepFor: keepFor)
        defer { owner.end() }
        var telling: Double?
        var lastReported = 0
        var looked = start
        let end = start.addingTimeInterval(Double(limit))
        var sum = RotationOutcome()
        var (killed, isDown) = (Double?.none, false)
        while Date() < end {
            try owner.turn()
            // Add up the results of all devices once a second.
            guard looked.timeIntervalSinceNow < -1 else { continue }
            looked = Date()
            sum = workers.report.staged
            let seconds = Int(Date().timeIntervalSince(start))
            if let kill, killed == nil, owner.answerCount * 2 >= devices {
                log("\(seconds) s: a broker is killed")
                try kill()
                (killed, isDown) = (Date().timeIntervalSince(start), true)
            } else if let killed, isDown, Double(seconds) >= killed + Self.downTime {
                try restart()
                isDown = false
            }
            if telling == nil, owner.isSent { telling = Date().timeIntervalSince(start) }
            if seconds >= lastReported + 10 {
                lastReported = seconds
                log(
                    "\(seconds) s: \(sum.committed) of \(sum.right) committed, \(sum.undone) of \(sum.wrong) undone, "
                        + "\(sum.cut) power cuts, \(sum.connected) connected")
            }
            if sum.committed + sum.undone == devices, sum.connected == devices, owner.isOver {
                break
            }
        }
        return Result(
            outcome: sum, connecting: connecting, telling: telling ?? .nan, total: Date().timeIntervalSince(start),
            killed: killed, memory: residentKiB())
    }
}

private struct Owner {
    var rollout: Rollout
    private var connection: OwnerConnection

    init(_ broker: BrokerAddress, _ authorities: String?, devices: Int, keepFor: Int) throws {
        let change = RotationFleet.change
        let staging = PasswordStaging(
            changeId: change.changeId,
            network: NewNetwork(ssid: try SSID(change.ssid), password: Secret(text: change.password)), keepFor: keepFor)
        var keys: [String: DeviceKey] = [:]
        for number in 0..<devices { keys[Fleet.id(number)] = try Fleet.key(of: number) }
        let run = String(UInt64.random(in: 0 ... .max), radix: 36)
        rollout = Rollout(FleetChange(staging), .apply, keys: keys, run: run, nonce: Nonce.random, time: { .now })
        connection = OwnerConnection(broker, user: nil, BrokerSecrets(authorities: authorities), run: run)
    }

    var answerCount: Int { rollout.record.devices.count - rollout.record[.waiting] }
    var isSent: Bool { rollout.record[.waiting] == 0 }
    var isOver: Bool { rollout.isOver }

    mutating func turn() throws {
        if let reason = connection.carryOn(&rollout, until: .now + .milliseconds(200)).first {
            throw FleetFailure(text: "the broker refuses: \(reason)")
        }
    }

    func end() { connection.end() }
}

struct RotationPlot {
    let outcome: RotationOutcome
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
        let about =
            "Share of the devices with the right password that have confirmed it, by seconds since the change began."
        drawing.text(about, Self.left, 48, .init(size: 12, colour: Palette.faintInk))
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
        return drawing.document(width: Self.width, height: Self.height, title: title, about: about)
    }
}
