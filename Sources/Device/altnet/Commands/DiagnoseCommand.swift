import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct DiagnoseCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose", abstract: "Find faults and show what to do.",
        discussion: """
            The device checks every layer in turn: radio, association, address, gateway, names, internet, and each of \
            its own servers. Takes up to \(ProtocolLimits.diagnosisSeconds) seconds and changes nothing.

            The exit status is 1 if something is broken, else 0.

            With --report it prints all that a report of a fault needs, as JSON: state, history, settings and counters. \
            Names of networks and servers and all addresses have substitutes; passwords and keys are not in it.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print a report that can be attached to an issue.")
    var report = false

    func run(_ device: DeviceClient, _ console: Console) async throws {
        guard !report else { return try await printReport(of: device, console) }
        let diagnosis = try await console.showingProgress { progress in
            progress.show("checking every layer")
            return try await device.diagnose()
        }
        if connection.json {
            console.print(json: diagnosis)
        } else {
            console.print(DiagnosisView(diagnosis: diagnosis).render(console.style))
        }
        guard diagnosis.isGood else { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func printReport(of device: DeviceClient, _ console: Console) async throws {
        let isHere = try !connection.device.isRemote(console)
        let report = await console.showingProgress { progress in
            await SupportReport(of: device, isHere: isHere) { progress.show($0) }
        }
        console.print(json: try report.redacted())
    }
}

struct DiagnosisView {
    let diagnosis: Diagnosis

    func render(_ style: Style) -> String {
        let width = Diagnosis.Layer.allCases.map { Self.name($0).columns }.max() ?? 0
        let lines = diagnosis.steps.flatMap { step in
            let name = Self.name(step.layer)
            let (mark, paint) = Self.mark(step.result, style)
            let indent = String(repeating: " ", count: width - name.columns)
            let found = "\(style.paint(mark, paint)) \(style.heading(name))\(indent)  \(step.found.printable)"
            let margin = String(repeating: " ", count: width + 4)
            return [found] + (step.remedy.map { [margin + style.arrow + " " + $0.printable] } ?? [])
        }
        return (lines + ["", verdict(style)]).joined(separator: "\n")
    }

    private func verdict(_ style: Style) -> String {
        if let broken = diagnosis.steps.first(where: { $0.result == .broken }) {
            return style.paint("Broken: \(Self.name(broken.layer).lowercased()).", .red)
        }
        if let doubtful = diagnosis.steps.first(where: { $0.result == .doubtful }) {
            return style.paint("Nothing is broken; \(Self.name(doubtful.layer).lowercased()) could be better.", .yellow)
        }
        return style.paint("Nothing is broken.", .green)
    }

    private static func name(_ layer: Diagnosis.Layer) -> String {
        switch layer {
        case .radio: "Radio"
        case .association: "Association"
        case .address: "Address"
        case .gateway: "Gateway"
        case .names: "Names"
        case .internet: "Internet"
        case .target: "Server"
        }
    }

    private static func mark(_ result: Diagnosis.Result, _ style: Style) -> (text: String, paint: Style.Paint) {
        switch result {
        case .good: (style.isUnicode ? "✓" : "+", .green)
        case .broken: (style.isUnicode ? "✗" : "x", .red)
        case .doubtful: ("!", .yellow)
        case .skipped: ("-", .dim)
        }
    }
}
