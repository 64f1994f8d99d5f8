import AgentModel
import Glibc
import Linux
import Testing

@testable import Supplicant

/// The real wpa_supplicant, which needs no radio to parse commands: its driver `none` on the loopback interface.
@Suite(
    .enabled(if: RealSupplicant.isInstalled && geteuid() == 0, "wpa_supplicant is not installed, or this is not root"),
    .timeLimit(.minutes(10)))
struct RealSupplicantTests {
    @Test @AgentLoop func takesEveryKindOfRequest() async throws {
        let directory = ScratchDirectory()
        let process = try RealSupplicant(in: directory)
        defer { process.kill() }
        let log = EventLog()
        let supplicant = Supplicant(
            controlSocket: process.socket, replyDirectory: directory.path, onEvent: { log.record($0) })
        supplicant.start()
        #expect(await log.next() == .available)

        let names: [[UInt8]] = [
            Array("Home".utf8), Array("\"quoted\" \\ and spaced".utf8), [0], [UInt8](repeating: 0xff, count: 32),
            Array("emoji \u{1f4f6}".utf8), Array("new\nline\ttab".utf8),
        ]
        for (number, name) in names.enumerated() {
            for credential in [nil, JoinRequest.Credential.none] {
                let request = try Example.request(
                    name, credential, isHidden: number.isMultiple(of: 2), bssid: number > 2 ? Example.bssid : nil,
                    frequencies: number > 3 ? [2412, 5180, 5955] : [])
                try await supplicant.join(request, attempt: UInt64(number))
                let networks = try await supplicant.readyChannel().text(.listNetworks).split(separator: "\n")
                let fields = try #require(networks.last).split(separator: "\t", omittingEmptySubsequences: false)
                #expect(SSID.bytes(printedBySupplicant: fields[1]) == name)
                #expect(fields[3] == "[CURRENT]")
            }
        }
        try await supplicant.leave()
        #expect(try await supplicant.readyChannel().text(.listNetworks).split(separator: "\n").count == 1)
        supplicant.stop()
    }

    /// The driver `none` offers no SAE, so `join` leaves it out.
    @Test @AgentLoop func takesTheWholeOfWPA3() async throws {
        let directory = ScratchDirectory()
        let process = try RealSupplicant(in: directory)
        defer { process.kill() }
        let log = EventLog()
        let supplicant = Supplicant(
            controlSocket: process.socket, replyDirectory: directory.path, onEvent: { log.record($0) })
        supplicant.start()
        #expect(await log.next() == .available)
        let channel = try supplicant.readyChannel()
        for methods: Set in [["SAE", "WPA-PSK", "WPA-PSK-SHA256"], ["OWE"]] {
            let network = try await channel.addNetwork()
            let credential: JoinRequest.Credential? = methods == ["OWE"] ? JoinRequest.Credential.none : nil
            let block = try NetworkBlock(Example.request([7], credential), keyManagement: methods)
            for setting in block.settings { try await channel.ask(ControlCommand(network: network, setting)) }
            let stored = try await channel.words(ControlCommand("GET_NETWORK \(network) key_mgmt", answer: .text))
            #expect(stored == methods)
        }
        await #expect(throws: SupplicantError.refused(command: "SELECT_NETWORK 77", reply: "FAIL")) {
            try await channel.ask(.selectNetwork(77))
        }
        await #expect(throws: SupplicantError.refused(command: "NONSENSE", reply: "UNKNOWN COMMAND")) {
            try await channel.ask(ControlCommand("NONSENSE"))
        }
        supplicant.stop()
    }

    /// Every variable and the largest blobs.
    @Test @AgentLoop func takesEveryKindOfEnterpriseCredential() async throws {
        let directory = ScratchDirectory()
        let process = try RealSupplicant(in: directory)
        defer { process.kill() }
        let log = EventLog()
        let supplicant = Supplicant(
            controlSocket: process.socket, replyDirectory: directory.path, onEvent: { log.record($0) })
        supplicant.start()
        #expect(await log.next() == .available)
        let channel = try supplicant.readyChannel()
        let block = { (label: String, lines: Int) in
            let line = String(repeating: "MAMC", count: 16) + "\n"
            return "-----BEGIN \(label)-----\n" + String(repeating: line, count: lines) + "-----END \(label)-----\n"
        }
        let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
        let chain = String(repeating: certificate, count: 61)
        for method in EnterpriseCredential.Method.allCases {
            let isTLS = method == .tls
            let credential = try EnterpriseCredential(
                method: method, identity: "é\"\\ x", anonymousIdentity: "anonymous",
                password: isTLS ? nil : Secret(text: "ü \" x"), clientCertificate: isTLS ? chain : nil,
                privateKey: isTLS ? Secret(text: block("PRIVATE KEY", 60)) : nil, caCertificate: certificate,
                serverName: "radius.example.com")
            var request = try Example.request([7], .enterprise(credential))
            request.checksCertificateTimes = false
            try await supplicant.join(request, attempt: 1)
            let networks = try await channel.text(.listNetworks)
            let network = try #require(NetworkList.numbers(in: networks).last)
            for (name, value) in [
                ("eap", method.rawValue.uppercased()), ("ca_cert", "\"blob://altnet-ca_cert-\(network)\""),
                ("domain_suffix_match", "\"radius.example.com\""), ("phase1", "\"tls_disable_time_checks=1\""),
            ] {
                let stored = try await channel.text(.variable(name, ofNetwork: network))
                #expect(stored == value)
            }
        }
        #expect(chain.utf8.count > 3800)
        try await supplicant.leave()
        try await channel.ask(.authenticateAgain)
        supplicant.stop()
    }

    @Test @AgentLoop func itsDeathAndReturnAreNoticedAtOnce() async throws {
        let directory = ScratchDirectory()
        var timing = Supplicant.Timing()
        // Only what the kernel tells can be in time.
        timing.supervision = .seconds(1000)
        timing.closeSupervision = .seconds(1000)
        timing.retry = BackOff(first: .seconds(1000), last: .seconds(1000))
        let log = EventLog()
        var process = try RealSupplicant(in: directory)
        let supplicant = Supplicant(
            controlSocket: process.socket, replyDirectory: directory.path, timing: timing, onEvent: { log.record($0) })
        supplicant.start()
        #expect(await log.next() == .available)
        for signal in [SIGKILL, SIGTERM] {
            process.kill(signal)
            #expect(await log.next() == .unavailable)
            process = try RealSupplicant(in: directory)
            #expect(await log.next() == .available)
        }
        process.kill()
        #expect(await log.next() == .unavailable)
        supplicant.stop()
    }
}

/// A running wpa_supplicant.
struct RealSupplicant {
    private static let program = "/usr/sbin/wpa_supplicant"
    static var isInstalled: Bool { access(program, X_OK) == 0 }

    let socket: String
    private let process: pid_t

    init(in directory: ScratchDirectory) throws {
        // Below the scratch directory, so that it comes and goes as /run/wpa_supplicant does.
        let sockets = "\(directory.path)/sockets"
        socket = "\(sockets)/lo"
        process = try ChildProcess.start(
            Self.program, ["-Dnone", "-ilo", "-C\(sockets)"], environment: ChildProcess.ownEnvironment, output: .nothing
        )
    }

    func kill(_ signal: Int32 = SIGKILL) {
        Glibc.kill(process, signal)
        ChildProcess.wait(for: process)
    }
}
