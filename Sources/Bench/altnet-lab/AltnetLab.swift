import ArgumentParser
import Glibc
import Simulation

@main
struct AltnetLab: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "altnet-lab",
        abstract: "Development tools for altnet. Devices do not contain them.",
        subcommands: [
            DeviceCommand.self, WorldCommand.self, FleetCommand.self, DemoCommand.self, BenchCommand.self,
            BenchPlayCommand.self, AddressCommand.self, SimulateCommand.self, ReplayCommand.self, TraceCommand.self,
            BenchPolicyCommand.self, TortureCommand.self, PolicyPropertiesCommand.self, EnduranceCommand.self,
            HarnessCommand.self,
        ])
}

struct JobsOption: ParsableArguments {
    @Option(help: "Runs at a time.")
    var jobs = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    func validate() throws {
        if !(1...256).contains(jobs) { throw ValidationError("--jobs must be 1 to 256") }
    }
}

/// Shows the progress of long work in percent, on standard error if it is a terminal.
struct Progress {
    private let what: String
    private let wanted: Double
    private let isShown = isatty(STDERR_FILENO) == 1
    private var done = 0.0
    private var shown = -1

    /// - Parameter what: text after the percentage, such as `of 1000 device-hours`.
    init(_ what: String, wanted: Double) {
        self.what = what
        self.wanted = wanted
    }

    mutating func add(_ amount: Double) {
        done += amount
        let percent = Int(min(100, done * 100 / max(wanted, .leastNonzeroMagnitude)))
        guard isShown, percent != shown else { return }
        shown = percent
        write("\r\(Int(done)) \(what), \(percent) %")
    }

    func end() { if isShown { write("\r\u{1b}[K") } }

    private func write(_ text: String) { _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) } }
}

extension TextStyle {
    /// Style for standard output. It has colours on a terminal, unless the environment excludes them
    /// (https://no-color.org).
    static var terminal: TextStyle {
        func environment(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
        return TextStyle(
            hasColour: isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").isEmpty && environment("TERM") != "dumb")
    }
}
