import AgentModel
import AppProtocol
import ConnectivitySupport
import Foundation
import JSONValues
import PipedPrograms
import Randomness
import Testing

/// The bridge as a program, between a device with the real core and server and a real mosquitto.
// covers: seed/user-fleet
@Suite(
    .enabled(if: BridgeBench.isInstalled, "needs mosquitto, mosquitto-clients and altnet-mqtt"), .serialized,
    .timeLimit(.minutes(3)))
struct BridgeTests {
    @Test func aDeviceAppearsAndIsAskedAndMoved() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            try bench.startBridge()
            let lines = try bench.listen()
            try await lines.next("homeassistant/device/altnet_\(bench.deviceId)/config") { $0["cmps"] != nil }
            let hash = try await bench.hash(of: "Home", lines)
            try await lines.next(bench.base + "/status") { $0["name"]?.text == "Garden" }

            let answer = try await bench.ask(#"{"v":1,"id":"q1","type":"network.get"}"#)
            #expect(answer?["id"]?.text == "q1" && answer?["body"]?["ssid"]?.text == "Garden")
            // A command without an end, one that is over, and a password in the plain.
            let command = #"{"v":1,"id":"c1","type":"network.switch","body":{"hash":"\#(hash)"}"#
            #expect(try await bench.ask(command + "}")?["error"]?["details"]?["field"]?.text == "expires")
            let plain = #"{"v":1,"id":"c2","type":"network.switch","body":{"ssid":"Attic","password":"correct horse"}}"#
            #expect(try await bench.ask(plain, expiry: 60)?["error"]?["code"]?.text == "sealRequired")

            lines.skip()
            let began = ContinuousClock.now
            let accepted = try await bench.ask(command + "}", expiry: 60)
            #expect(accepted?["body"]?["phase"]?.text == "accepted")
            try await lines.next(bench.base + "/switch") { $0["phase"]?.text == "committed" }
            try await lines.next(bench.base + "/status") { $0["selected"]?.text == "Home" }
            print("a commanded move over the broker: \(ContinuousClock.now - began)")
            // The same command again: it is answered, and the device stays.
            #expect(try await bench.ask(command + "}", expiry: 60) == accepted)
            #expect(!lines.texts.contains(bench.base + "/availability offline"))
        }
    }

    /// Whoever may publish moves the device to what is stored. What is new has the proof of an app's key.
    @Test func whoMayPublishIsNotTheOwner() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            try bench.startBridge(["COMMANDS": "manage"])
            let lines = try bench.listen()
            let stored = try await bench.hash(of: "Home", lines)
            let device = bench.running.pairingCode.device
            func code(_ request: String) async throws -> String? {
                try await bench.ask(request, expiry: 60)?["error"]?["code"]?.text
            }
            /// Increases with every change; the body also has the signal of the last scan.
            func revision(_ id: String) async throws -> Int? {
                try await bench.ask(#"{"v":1,"id":"\#(id)","type":"backups.get"}"#)?["body"]?["revision"]?.integer
            }
            let before = try #require(try await revision("q1"))
            let open = #""ssid":"Cafe","security":"open""#
            for (id, body) in [
                ("o1", #""network.switch","body":{\#(open)}"#),
                ("o2", #""network.switch","body":{\#(open),"joinOnce":true}"#),
                ("o3", #""backups.update","body":{"networks":[{\#(open)}]}"#),
                ("o4", #""backups.update","body":{"networks":[],"home":{\#(open)}}"#),
                ("o5", #""key.agree","body":{"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}"#),
            ] { #expect(try await code(#"{"v":1,"id":"\#(id)","type":\#(body)}"#) == "proofRequired", "\(id)") }
            #expect(try await revision("q2") == before)

            // The owner's app has proved it, for this device and in these words.
            let entry = NewNetwork(ssid: try SSID("Cafe"), password: nil, security: .open)
            let hash = try #require(NetworkHash(base64: stored))
            let update = Request.Body.updateBackups(BackupsUpdate(networks: [.stored(hash), .new(entry)]))
            let proved = try ProvedRequest(
                Request(id: "p1", content: .device(update)),
                until: Timestamp(millisecondsSince1970: Timestamp.now.millisecondsSince1970 + 60_000), by: device)
            let altered = ProvedRequest(
                line: proved.line.replacingOccurrences(of: "Cafe", with: "Evil"), proof: proved.proof)
            func text(_ proved: ProvedRequest) throws -> String {
                String(decoding: try Request(id: "p1", content: .prove(proved)).line(), as: UTF8.self)
            }
            let told = try await bench.ask(try text(proved), expiry: 60)
            #expect(told?["body"]?["networks"]?.array?.compactMap { $0["ssid"]?.text } == ["Home", "Cafe"])
            // Again it is answered as before, and a word of it changed is nothing.
            #expect(try await bench.ask(try text(proved), expiry: 60) == told)
            let changed = try text(altered).replacingOccurrences(of: "p1", with: "p2")
            #expect(try await code(changed) == "keyRefused")

            // Of all that the broker has seen, nothing is a hash to try passwords with.
            lines.skip()
            try await bench.changeWorld("Garden off")
            try await lines.next(bench.base + "/status") { $0["name"]?.text == "Home" }
            for id in ["history.get", "network.get", "scan.get", "diagnosis.get", "metrics.get"] {
                #expect(try await bench.ask(#"{"v":1,"id":"\#(id)","type":"\#(id)"}"#)?["ok"] == .bool(true), "\(id)")
            }
            let everything = lines.texts.joined(separator: "\n")
            for (name, password) in [("Garden", "watering-can"), ("Home", "front-door-mat"), ("Cafe", nil)] {
                let hash = NetworkHash(
                    localKey: device.localKey, ssid: try SSID(name), password: password.map { Secret(text: $0) })
                #expect(!everything.contains(hash.base64), "\(name)")
            }
            #expect(everything.contains(stored))
        }
    }

    /// Its commands are on the disk before they are carried out.
    @Test func aCommandIsNotCarriedOutAgainAfterAPowerCut() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            let bridge = try bench.startBridge()
            try await bench.said.next("connected") { $0.contains("connected to") }
            let scan = #"{"v":1,"id":"s1","type":"scan.start"}"#
            // It may be in the middle of a scan of its own; the command is one that was carried out all the same.
            let first = try await bench.ask(scan, expiry: 60)
            #expect(first != nil && first?["error"]?["details"] == nil)
            bench.stop(bridge, SIGKILL)
            try bench.startBridge()
            try await bench.said.next("connected") { $0.contains("connected to") }
            #expect(try await bench.ask(scan, expiry: 60)?["error"]?["details"]?["field"]?.text == "id")
        }
    }

    /// The switch of Home Assistant's select, and the time from the agent's event to the message.
    @Test func aChangeIsThereAtOnce() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            try bench.startBridge()
            let lines = try bench.listen()
            try await lines.next(bench.base + "/status") { $0["name"]?.text == "Garden" }
            let events = try await bench.events()
            try await bench.changeWorld("Garden off")
            let event = try await events.next("at home") { text in
                text.contains(#""event":"network.changed""#) && text.contains(#""ssid":"Home""#)
            }
            let told = try await lines.next("at home") { text in
                text.hasPrefix(bench.base + "/status ") && text.contains(#""ssid":"Home""#)
            }
            print("from the agent's event to the message: \(told.moment - event.moment)")
        }
    }

    // MARK: Going and coming

    @Test func theWillIsTold() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            let bridge = try bench.startBridge(["WILL_DELAY_S": "1"])
            let lines = try bench.listen()
            try await lines.next("online") { $0 == bench.base + "/availability online" }
            bench.stop(bridge, SIGKILL)
            try await lines.next("offline") { $0 == bench.base + "/availability offline" }
            // One that goes in order says so itself.
            let next = try bench.startBridge()
            try await lines.next("online") { $0 == bench.base + "/availability online" }
            bench.stop(next, SIGTERM)
            try await lines.next("offline") { $0 == bench.base + "/availability offline" }
        }
    }

    @Test func aBrokerIsKilledAndComesBack() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            try bench.startBridge()
            try await bench.said.next("connected") { $0.contains("connected to") }
            broker.kill()
            try await bench.said.next("gone") { $0.contains("no connection") }
            // It happens while there is none.
            let events = try await bench.events()
            try await bench.changeWorld("Garden off")
            try await events.next("at home") { text in
                text.contains(#""event":"network.changed""#) && text.contains(#""ssid":"Home","state":"online""#)
            }
            try await bench.start(broker)
            let lines = try bench.listen()
            try await lines.next("online") { $0 == bench.base + "/availability online" }
            try await lines.next(bench.base + "/status") { $0["name"]?.text == "Home" }
            #expect(bench.said.texts.count { $0.contains("no connection") } == 1, "it is said once")
        }
    }

    @Test func twoWithOneName() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            try bench.startBridge(["CLIENT_ID": "twin"])
            try await bench.said.next("connected") { $0.contains("connected to") }
            let twin = try bench.startBridge(["CLIENT_ID": "twin"])
            try await bench.said.next("taken over") { $0.contains("another client") }
            #expect(bench.said.texts.count { $0.contains("another client") } == 1)
            bench.stop(twin, SIGTERM)
        }
    }

    @Test func anAgentGoesAndComes() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            try bench.startBridge(["BROKER": "mqtt://127.0.0.1:\(bench.port)"])
            try await bench.said.next("connected") { $0.contains("connected to") }
            await bench.running.stop()
            try await bench.said.next("no connection to the agent") { $0.contains("no connection to the agent") }
            #expect(try await bench.ask(#"{"v":1,"id":"q1","type":"network.get"}"#)?["error"]?["code"]?.text == "busy")
        }
    }

    // MARK: Who it is

    @Test func certificatesOfBothSides() async throws {
        try await BridgeBench.run { bench in
            let authority = try Authority()
            let server = try authority.certify("DNS:localhost,IP:127.0.0.1")
            let folder = bench.folder
            let broker = try bench.broker(
                "certfile \(server).pem\nkeyfile \(server).key\ncafile \(authority.path)\nrequire_certificate true")
            try FileManager.default.copyItem(atPath: authority.path, toPath: folder + "/ca.pem")
            try await bench.start(broker)
            // Without a certificate of its own it is sent away.
            let stranger = try bench.startBridge(["BROKER": "mqtts://localhost:\(bench.port)"])
            try await bench.said.next("refused") { $0.contains("no connection") }
            bench.stop(stranger, SIGTERM)
            try FileManager.default.copyItem(atPath: server + ".pem", toPath: folder + "/certificate.pem")
            try FileManager.default.copyItem(atPath: server + ".key", toPath: folder + "/key.pem")
            let known = try bench.startBridge(["BROKER": "mqtts://localhost:\(bench.port)"])
            try await bench.said.next("connected") { $0.contains("connected to") }
            bench.stop(known, SIGTERM)
            // A broker that is another one: by its name, and by its authority.
            try bench.startBridge(["BROKER": "mqtts://127.0.0.2:\(bench.port)"])
            try await bench.said.next("no connection") { $0.contains("no connection") }
            try FileManager.default.removeItem(atPath: folder + "/ca.pem")
            try bench.startBridge(["BROKER": "mqtts://localhost:\(bench.port)"])
            let said = try await bench.said.next("no connection") { $0.contains("no connection") }
            #expect(said.text.contains("certificate verify failed"), "\(said.text)")
        }
    }

    @Test func aSharedKeyThatFollowsFromTheDevices() async throws {
        try await BridgeBench.run { bench in
            let folder = bench.folder
            try "0123456789abcdef0123456789abcdef\n".write(
                toFile: folder + "/local-key", atomically: true, encoding: .utf8)
            let line = try await offLoop {
                try PipedProgram.run(BridgeBench.program, ["psk", "--id", "pump-7", folder + "/local-key"]).output
            }
            #expect(line.starts(with: Array("pump-7:".utf8)) && line.count == 7 + 64 + 1)
            try line.write(to: URL(fileURLWithPath: folder + "/psk"))
            let broker = try bench.broker(
                "psk_file \(folder)/psk\npsk_hint altnet\nuse_identity_as_username true\nallow_anonymous false")
            try await bench.start(broker)
            let known = try bench.startBridge(["BROKER": "mqtts://127.0.0.1:\(bench.port)"])
            try await bench.said.next("connected") { $0.contains("connected to") }
            bench.stop(known, SIGTERM)
            try "pump-7:\(String(repeating: "0", count: 64))\n".write(
                toFile: folder + "/psk", atomically: true, encoding: .utf8)
            try bench.startBridge(["BROKER": "mqtts://127.0.0.1:\(bench.port)"])
            try await bench.said.next("no connection") { $0.contains("no connection") }
        }
    }

    @Test func nameAndPassword() async throws {
        try await BridgeBench.run { bench in
            let folder = bench.folder
            try "pump:correct horse\n".write(toFile: folder + "/users", atomically: true, encoding: .utf8)
            _ = try Program.run(["mosquitto_passwd", "-U", folder + "/users"])
            try "correct horse\n".write(toFile: folder + "/password", atomically: true, encoding: .utf8)
            let broker = try bench.broker("allow_anonymous false\npassword_file \(folder)/users")
            try await bench.start(broker)
            let known = try bench.startBridge(["USER": "pump"])
            try await bench.said.next("connected") { $0.contains("connected to") }
            bench.stop(known, SIGTERM)
            try bench.startBridge(["USER": "stranger"])
            let said = try await bench.said.next("refused") { $0.contains("refuses this device") }
            #expect(!bench.said.texts.joined().contains("horse") && said.text.contains("Not authorized"))
        }
    }

    // MARK: Bad input

    /// Each connection ends in another way; then the broker is as it should be.
    @Test(.enabled(if: Rounds.areAll, "make thorough runs it"))
    func aBrokerThatLies() async throws {
        try await BridgeBench.run { bench in
            let hostile = try HostileBroker(port: bench.port)
            let bridge = try bench.startBridge(["KEEPALIVE_S": "10"])
            #expect(try await offLoop { hostile.serveAll() } == HostileBroker.ways)
            hostile.stop()
            #expect(kill(bridge.pid, 0) == 0)
            let memory = try String(contentsOfFile: "/proc/\(bridge.pid)/status", encoding: .utf8)
                .firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) }
            print("the most memory that it had, beside a broker that sends 256 MB: \(memory ?? 0) kB")
            #expect((memory ?? .max) < 100_000)
            let broker = try bench.broker()
            try await bench.start(broker)
            let lines = try bench.listen()
            try await lines.next("online") { $0 == bench.base + "/availability online" }
            #expect(bench.said.texts.count < 15, "\(bench.said.texts)")
        }
    }

    @Test func whatIsKeptFromLastYearIsNotCarriedOut() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            for topic in ["request", "home-assistant"] {
                try await bench.publish(
                    bench.base + "/" + topic, #"{"v":1,"id":"old","type":"scan.start","action":"scan","expires":1}"#,
                    ["-r"])
            }
            let lines = try await bench.listenFromNow()
            try bench.startBridge()
            try await lines.next("online") { $0 == bench.base + "/availability online" }
            _ = try await bench.ask(#"{"v":1,"id":"q1","type":"network.get"}"#)
            let response = bench.base + "/response "
            #expect(!lines.texts.contains { $0.hasPrefix(response) && $0.contains("\"old\"") })
            // One that is published to be kept while the device is there is told so.
            try await bench.publish(
                bench.base + "/request", #"{"v":1,"id":"new","type":"scan.start"}"#,
                ["-r", "-D", "publish", "message-expiry-interval", "60"])
            try await lines.next(bench.base + "/response") { $0["error"]?["details"]?["field"]?.text == "retain" }
        }
    }

    // MARK: The end

    @Test func aDeviceIsTakenBack() async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            let bridge = try bench.startBridge()
            try await bench.said.next("connected") { $0.contains("connected to") }
            _ = try await bench.ask(#"{"v":1,"id":"q1","type":"network.get"}"#)
            bench.stop(bridge, SIGTERM)
            let removal = try bench.startBridge([:], ["remove"])
            #expect(try await offLoop { removal.wait() } == 0)
            try await bench.publish("app/end", "end", ["-r"])
            let kept = try await offLoop {
                try PipedProgram.run(
                    "mosquitto_sub", ["-V", "5", "-p", "\(bench.port)", "-t", "#", "-v", "--retained-only", "-W", "2"])
            }
            #expect(String(decoding: kept.output, as: UTF8.self) == "app/end end\n")
        }
    }

    @Test func whatIsSetWronglyIsToldInOneGo() async throws {
        try await BridgeBench.run { bench in
            let bridge = try bench.startBridge(["BROKER": "example.com", "SPREAD_S": "0", "COLOUR": "red"], ["check"])
            #expect(try await offLoop { bridge.wait() } == 78)
            try await bench.said.next("SPREAD_S") { $0.contains("ALTNET_MQTT_SPREAD_S is \"0\"") }
            #expect(bench.said.texts.count == 3, "\(bench.said.texts)")
        }
    }
}
