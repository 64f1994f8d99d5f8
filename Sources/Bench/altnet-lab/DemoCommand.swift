import ArgumentParser
import FoundationEssentials
import Lab

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows the agent keeping a device online between real access points.",
        discussion: """
            Needs a kernel with simulated radios: `make demo` starts a virtual machine that has one. What runs in it is \
            real: hostapd, wpa_supplicant, dhcpcd and the agent itself.
            """)

    @Option(help: "Write a picture (SVG) of what was shown to this file.")
    var picture: String?

    func validate() throws {
        if let obstacle = Lab.obstacle { throw ValidationError("no demo here: \(obstacle); use make demo") }
    }

    func run() async throws {
        let stage = Stage()
        do { try await Demo(stage: stage).run() } catch {
            stage.failure("\(error)")
            throw ExitCode(1)
        }
        if let picture {
            try Data(TerminalPicture(lines: stage.lines).svg.utf8).write(to: URL(filePath: picture))
        }
    }
}
