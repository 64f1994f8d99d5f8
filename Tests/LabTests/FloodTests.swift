import AppProtocol
import FoundationEssentials
import Lab
import Testing

extension Radios {
    /// A hostile peer sends all that it can, and reads nothing, beside an app that is served all the while. The agent has
    /// the memory that its unit allows (Docs/integrator/security.md has the table of bounds).
    @Suite struct FloodTests {
        private static let seconds = 6

        private static let ways = [
            "pings", "fragments", "goodbyes", "page", "half_frames", "lines", "hellos", "handshakes", "headers",
            "posts",
            "names", "leases", "app_lines", "app_requests", "app_subscriptions",
        ]

        /// From a phone at the access point of the device, which reaches every service of it.
        @Test(.extended, arguments: ways)
        func theNetworkDoesNotEndTheAgent(way: String) async throws {
            try await flood(way) { _, flooder, _, key in
                try await flooder.run(
                    "/usr/bin/python3",
                    [
                        Self.program, way, "--host", "\(Device.ownAddress)", "--key", key, "--seconds",
                        "\(Self.seconds)", "--sources", "8", "--interface", flooder.interfaceName,
                    ], log: "flood")
            }
        }

        /// From a program of the device that may use these sockets.
        @Test(.extended, arguments: ["local_lines", "local_requests", "local_subscriptions", "local_headers"])
        func aProgramDoesNotEndTheAgent(way: String) async throws {
            try await flood(way) { lab, _, device, _ in
                try await lab.start(
                    "/usr/bin/python3",
                    [
                        Self.program, way, "--seconds", "\(Self.seconds)", "--socket",
                        way == "local_headers" ? Self.metricsSocket(in: lab) : device.socket,
                    ], log: "flood")
            }
        }

        /// The programs beside the agent, each within the limit of its own unit. `flood` uses the program as it is meant to be
        /// used when the flood is over, and fails where it does not answer.
        @Test(
            .extended,
            arguments: [
                ("serial", "altnet-improv-serial@.service"), ("providers", "altnet-providers.service"),
                ("broker", "altnet-mqtt.service"),
            ])
        func aProgramBesideTheAgentSurvives(way: String, unit: String) async throws {
            try await scenario("flood \(way)") { lab in
                let device = Device(in: lab, isRecording: false)
                try await device.start()
                let memory = try MemoryLimit(of: unit)
                let killsBefore = try memory.kills()
                let program = way == "broker" ? Device.program("altnet-mqtt", beside: Device.binary) : Device.binary
                let attack = try await lab.start(
                    "/usr/bin/python3",
                    [
                        Self.program, way, "--seconds", "\(Self.seconds)", "--socket", device.socket,
                        "--program", program, "--group", memory.folder,
                    ], log: "flood")
                var most = 0
                try await eventually(within: .seconds(240), every: .milliseconds(100), "the flood to end") {
                    most = max(most, try memory.used())
                    return !attack.isRunning
                }
                lab.report("flood \(way): memory at most", "\(most >> 10) KiB")
                lab.report("flood \(way)", attack.output)
                #expect(attack.exitStatus == 0, "\(attack.output)")
                #expect(try memory.kills() == killsBefore, "the kernel ended the program for its memory")
            }
        }

        private static func metricsSocket(in lab: Lab) -> String { lab.directory + "/metrics" }

        private static let program = Lab.checkout + "/Tests/Servers/flood"

        private func flood(
            _ way: String, with start: (Lab, WirelessPhone, Device, String) async throws -> Program
        ) async throws {
            try await scenario("flood \(way)", accessPoints: 2) { lab in
                let (flooder, app) = (try await lab.wirelessPhone(), try await lab.wirelessPhone())
                let memory = try MemoryLimit(of: "altnet.service")
                let killsBefore = try memory.kills()
                let device = try await Device.withAccessPoint(
                    lab, settings: ["ALTNET_METRICS_LISTEN": Self.metricsSocket(in: lab)], memory: memory,
                    isRecording: false)
                try await device.opened(because: "neverProvisioned", within: .seconds(10))
                for phone in [flooder, app] {
                    try await phone.join(device)
                    _ = try await phone.address(within: .seconds(10))
                }
                let key = lab.directory + "/flood.key"
                try await PairingCode(device.key).uri().write(toFile: key, atomically: false, encoding: .utf8)
                let before = try memory.used()
                let attack = try await start(lab, flooder, device, key)
                let asking = try await app.run(
                    "/usr/bin/python3",
                    [
                        Self.program, "ask", "--host", "\(Device.ownAddress)", "--key", key, "--seconds",
                        "\(Self.seconds)",
                    ],
                    log: "ask")
                var most = before
                try await eventually(within: .seconds(120), every: .milliseconds(100), "the flood to end") {
                    most = max(most, try memory.used())
                    return !attack.isRunning && !asking.isRunning
                }
                lab.report("flood \(way): memory before", "\(before >> 10) KiB")
                lab.report("flood \(way): memory at most", "\(most >> 10) KiB")
                lab.report("flood \(way)", attack.output)
                lab.report("flood \(way): the app", asking.output)
                #expect(attack.exitStatus == 0, "\(attack.output)")
                #expect(try memory.kills() == killsBefore, "the kernel ended the agent for its memory")
                #expect(await device.isRunning)
                let answers = try JSONDecoder().decode(Answers.self, from: Data(asking.output.utf8))
                #expect(answers.answered > 0 && answers.failed == 0, "\(asking.output)")
                for phone in [flooder, app] { await phone.leave() }
            }
        }

        private struct Answers: Decodable {
            let answered: Int
            let failed: Int
        }
    }
}

extension Program {
    fileprivate var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
}
