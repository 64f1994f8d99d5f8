import ArgumentParser
import Glibc

/// How much a command does side by side.
struct JobsOption: ParsableArguments {
    @Option(help: "How many runs at once.")
    var jobs = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    func validate() throws {
        if !(1...256).contains(jobs) { throw ValidationError("run 1 to 256 jobs at once") }
    }
}
