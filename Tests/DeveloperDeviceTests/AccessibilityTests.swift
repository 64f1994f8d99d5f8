import Foundation
import PipedPrograms
import Simulation
import Testing

@testable import DeveloperDevice

/// Checks every view of the page with axe-core.
@Suite(.serialized) struct AccessibilityTests {
    private static let hasAxe =
        (try? PipedProgram.run("Tests/Servers/axe-core", [])).map { $0.status == 0 } ?? false

    private struct Tour: Decodable {
        let views: [String]
        let findings: [String]
        let seconds: Double
    }

    /// A world with a good network, one without internet, one with a portal and `crowd` others.
    private static func scenario(crowd: Int?) throws -> Scenario {
        let state = crowd == nil ? " off" : ""
        let text = """
            title Networks in a list
            about The lists of a page that a person sees.
            duration 1h
            set validation on
            network Good password watering-can preferred
            network Dead password watering-can
            network Attic password ladder-and-lamp
            ap good Good channel 11 signal -50\(state)
            ap dead Dead channel 6 signal -52 internet dead\(state)
            ap hotel Hotel channel 1 signal -54 open internet captive\(state)
            ap attic Attic channel 1 signal -88 off
            \(crowd.map { $0 > 0 ? "crowd flat \($0) channels 1,6,11 signal -90 to -60 password nobody-tells-me" : "" } ?? "")
            """
        return try Scenario(parsing: Array(text.utf8), name: "list", file: "list.scenario")
    }

    @Test(
        .enabled(if: PageTests.hasChromium, "needs chromium, chromedriver and python3"),
        .enabled(if: hasAxe, "needs axe-core: Tests/Servers/axe-core --install"),
        arguments: [
            (nil, []),
            (
                0, [("Good", "wrong-password"), ("Dead", "watering-can"), ("Hotel", ""), ("Good", "watering-can")]
            ),
            (27, []),
        ] as [(Int?, [(String, String)])])
    func theSetupPageHasNoFinding(crowd: Int?, tries: [(String, String)]) async throws {
        try await withPage(
            try Self.scenario(crowd: crowd), isNew: true, speed: 3, returnTime: .seconds(2)
        ) { browser, _ in
            try await expectNoFinding(
                ["http://127.0.0.1:\(browser.port)/"] + tries.flatMap { ["--try", $0.0, $0.1] },
                "page with \(crowd.map { "\($0 + 3)" } ?? "no") networks")
        }
    }

    @Test(
        .enabled(if: PageTests.hasChromium, "needs chromium, chromedriver and python3"),
        .enabled(if: hasAxe, "needs axe-core: Tests/Servers/axe-core --install"))
    func thePageInTheNetworkHasNoFinding() async throws {
        try await withPage(try Self.scenario(crowd: 3), speed: 3) { _, running in
            try await expectNoFinding(
                ["https://127.0.0.1:\(running.port)/", "--key", running.pairingCode.uri()], "page in the network")
        }
    }

    private func expectNoFinding(_ arguments: [String], _ name: String) async throws {
        let (status, output) = try await offLoop {
            try PipedProgram.run("Tests/Servers/axe-views", arguments, errors: .descriptor(STDERR_FILENO))
        }
        #expect(status == 0)
        let tour = try JSONDecoder().decode(Tour.self, from: output)
        #expect(tour.findings == [])
        #expect(tour.views.count >= 15)
        print("\(name): \(tour.views.count) views in \(tour.seconds) s\n  \(tour.views.joined(separator: "\n  "))")
    }
}
