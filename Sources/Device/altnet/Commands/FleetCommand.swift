import AgentModel
import ArgumentParser
import Glibc

/// Runs `altnet-mqtt fleet`. Only that program links the MQTT library, which most devices do not need.
struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "List the devices of a fleet at their broker, and change their network's password.",
        discussion: """
            Runs 'altnet-mqtt fleet', of the package altnet-fleet, with the same arguments: see altnet-mqtt-fleet(1).

              altnet fleet list --risk any
              altnet fleet apply december.json --keys-from 'pass show fleet/keys' --dry-run
            """)

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The arguments of 'altnet-mqtt fleet'.", valueName: "arguments"))
    var arguments: [String] = []

    static let program = "altnet-mqtt"

    func run() throws {
        var words = ([Self.program, "fleet"] + arguments).map { strdup($0) } + [nil]
        // Unblock signals: the new program inherits this thread's mask.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        execvp(Self.program, &words)
        let failure = SystemError("start \(Self.program)")
        for word in words { free(word) }
        let advice = "\(Self.program) is not installed: apt install altnet-fleet"
        try Console.current.report(
            CommandFailure(.failed, failure.errno == ENOENT ? advice : "\(failure)"), json: false)
    }
}
