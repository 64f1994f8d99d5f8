import AppClient
import AppProtocol
import ArgumentParser

struct DiagnoseCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose", abstract: "Find out what is broken, and what to do about it.",
        discussion: """
            Has the device look at every layer in turn: radio, association, address, gateway, names, internet, and each \
            of its own servers. Shows what was found and what to do. Takes up to \(ProtocolLimits.diagnosisSeconds) \
            seconds and changes nothing.

            The exit status is 0 where nothing is broken, and 1 where something is.
            """)

    @OptionGroup var connection: ConnectionOptions

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let diagnosis = try await console.showingProgress { progress in
            progress.show("looking at every layer")
            return try await device.diagnose()
        }
        if connection.json {
            console.print(json: diagnosis)
        } else {
            console.print(DiagnosisView(diagnosis: diagnosis).render(console.style))
        }
        guard diagnosis.isGood else { throw ExitCode(ExitStatus.failed.rawValue) }
    }
}
