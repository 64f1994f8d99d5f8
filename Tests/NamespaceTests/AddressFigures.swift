import DHCP
import Dispatch
import Foundation
import Glibc
import Linux
import NetworkNamespaces
import Testing

@testable import AddressIO

/// How long a device waits for an address, beside other clients: `ALTNET_FIGURES_RUNS=10
/// .build/debug/altnetPackageTests.xctest --testing-library swift-testing --filter AddressFigures` prints the table of
/// Docs/results/address.md.
@Suite(
    .serialized,
    .enabled(
        if: figureRuns != nil && AddressNetwork.isPossible,
        "ALTNET_FIGURES_RUNS is to be set to a number of runs, and root, dnsmasq and nft are needed"))
@AgentLoop struct AddressFigures {
    private enum Case: String, CaseIterable {
        case new = "new network"
        case lossy = "new network, first packet lost"
        case known = "known network"
        case knownLossy = "known network, first packet lost"

        var isKnown: Bool { self == .known || self == .knownLossy }
        var isLossy: Bool { self == .lossy || self == .knownLossy }
    }

    private enum Client: String, CaseIterable {
        case altnet
        case altnetAlone = "altnet, the server off"
        case udhcpc = "busybox udhcpc"
        case dhcpcdWithoutProbes = "dhcpcd, noarp"
        case dhcpcd
    }

    @Test func timeToAPing() async throws {
        let runs = try #require(figureRuns)
        printAtOnce("| client | \(Case.allCases.map(\.rawValue).joined(separator: " | ")) |")
        printAtOnce("|---\(String(repeating: "|---", count: Case.allCases.count))|")
        for client in Client.allCases {
            var cells: [String] = []
            for condition in Case.allCases where client != .altnetAlone || condition.isKnown {
                var times: [Int] = []
                for _ in 0..<runs { times.append(try await measure(client, condition)) }
                times.sort()
                cells.append("\(times[times.count / 2]) (\(times[0]) to \(times[times.count - 1]))")
            }
            let missing = Array(repeating: "", count: Case.allCases.count - cells.count)
            printAtOnce("| \(client.rawValue) | \((missing + cells).joined(separator: " | ")) |")
        }
    }

    /// - Returns: milliseconds from the carrier until the gateway answers a ping.
    private func measure(_ client: Client, _ condition: Case) async throws -> Int {
        let network = try await AddressNetwork()
        let folder = NSTemporaryDirectory() + "altnet-figures-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await network.start(.dnsmasq)
        var runner: IPv4Runner?
        var remembered: Lease?
        var process: pid_t?
        switch client {
        case .altnet, .altnetAlone:
            runner = try network.runner()
            if condition.isKnown {
                runner?.linkUp(hardware: AddressNetwork.hardware)
                remembered = try await network.fullLease()
                runner?.linkDown()
                if client == .altnetAlone { try await network.stopServer() }
            }
            try await network.router.run("ip link set ap0 down")
        case .dhcpcd, .dhcpcdWithoutProbes:
            if !condition.isKnown { try await network.router.run("ip link set ap0 down") }
            let words = client == .dhcpcd ? "" : "noarp"
            // Without hooks: they would write the name servers of the test into the resolv.conf of this machine.
            let settings = ["duid", "persistent", "script /bin/true", "option classless_static_routes"]
            try Data((settings + ["option interface_mtu", words, ""]).joined(separator: "\n").utf8)
                .write(to: URL(filePath: folder + "/conf"))
            process = try ChildProcess.start(
                "unshare",
                [
                    "-m", "nsenter", "--net=\(network.device.path)", "sh", "-ec",
                    """
                    mkdir -p /run/dhcpcd
                    mount -t tmpfs tmpfs /var/lib/dhcpcd; mount -t tmpfs tmpfs /run/dhcpcd
                    exec dhcpcd -f \(folder)/conf -4 -B wlan0
                    """,
                ], environment: ChildProcess.ownEnvironment,
                output: .file(folder + "/log", flags: O_WRONLY | O_CREAT | O_APPEND))
            if condition.isKnown {
                _ = try await network.ping()
                try await network.router.run("ip link set ap0 down")
            }
            // It is started, or has noticed that the carrier is gone.
            try await network.device.run("sleep 1; ip -4 address flush dev wlan0 scope global")
        case .udhcpc:
            try Data(
                """
                #!/bin/sh
                [ "$1" = bound ] || exit 0
                ip address add $ip/$mask dev $interface
                ip route add default via $router dev $interface
                """.utf8
            ).write(to: URL(filePath: folder + "/script"))
            try await network.router.run("chmod +x \(folder)/script; ip link set ap0 down")
        }
        if condition.isLossy { try await network.loseFirstQuestion() }
        try await network.router.run("ip link set ap0 up")
        let begin = ContinuousClock.now
        if client == .udhcpc {
            process = try ChildProcess.start(
                "nsenter",
                ["--net=\(network.device.path)", "busybox", "udhcpc", "-f", "-i", "wlan0", "-s", folder + "/script"]
                    + (condition.isKnown ? ["-r", "10.7.0.50"] : []),
                environment: ChildProcess.ownEnvironment,
                output: .file(folder + "/log", flags: O_WRONLY | O_CREAT | O_APPEND))
        }
        runner?.linkUp(hardware: AddressNetwork.hardware, remembered: remembered)
        let end = try await network.ping()
        if let process {
            // Its group: dhcpcd divides itself into several processes.
            kill(-process, SIGKILL)
            await withCheckedContinuation { done in
                DispatchQueue.global().async {
                    ChildProcess.wait(for: process)
                    done.resume()
                }
            }
        }
        try await network.end()
        try FileManager.default.removeItem(atPath: folder)
        return Int((end - begin) / .milliseconds(1))
    }
}

private let figureRuns = ProcessInfo.processInfo.environment["ALTNET_FIGURES_RUNS"].flatMap { Int($0) }

/// Writes a line without a buffer, because a run takes minutes.
func printAtOnce(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
