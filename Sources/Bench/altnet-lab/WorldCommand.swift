import AppProtocol
import ArgumentParser
import DeveloperDevice
import Simulation

struct WorldCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "world",
        abstract: "Changes the world of a device that 'altnet-lab device' runs.",
        discussion: """
            Without arguments, prints the state of the world. Write a change as in a scenario \
            (Docs/contributor/simulator.md), with an access point's name or SSID. 'away' carries the device out of \
            range of all access points, and 'back' returns it.

            EXAMPLES
              altnet-lab world
              altnet-lab world repeater off
              altnet-lab world repeater signal -80 over 20s
              altnet-lab world Garden internet dead
              altnet-lab world router password another-one
              altnet-lab world device moves to 30,-5 over 60s
              altnet-lab world away

            EXIT STATUS
              0   done
              1   the change failed, see the error
              64  the command line is wrong
            """)

    @Argument(parsing: .allUnrecognized, help: "The change, written as in a scenario.")
    var words: [String] = []

    @OptionGroup var place: WorldPlace

    @Flag(help: "Print the answer as a line of JSON.")
    var json = false

    func run() throws {
        let request = WorldRequest(change: words.isEmpty ? nil : words.joined(separator: " "))
        let answer: WorldAnswer
        do { answer = try WorldClient.ask(request, at: place.path, within: .seconds(10)) } catch {
            print("\(error): check that 'altnet-lab device' runs there")
            throw ExitCode.failure
        }
        if json { print(String(decoding: answer.line, as: UTF8.self)) }
        switch answer {
        case .world(let world): if !json { print(world.text) }
        case .error(let error):
            if !json { print(error.message) }
            throw ExitCode.failure
        }
    }
}

struct WorldPlace: ParsableArguments {
    @Option(help: ArgumentHelp("The socket of the world.", valueName: "path"))
    var control: String?

    @Option(help: "The port of the device; finds the socket if --control is missing.")
    var port = ProtocolLimits.port

    var path: String { control ?? SocketFolder.path(port: port) + "/world.sock" }
}

extension WorldState {
    var text: String {
        let seconds = timeMs / 1000
        var lines = [
            "\(scenario), \(seconds) s after its start, the device at \(x),\(y)"
                + (uplink.map { ", its traffic over \($0)" } ?? "")
        ]
        let width = accessPoints.map(\.name.count).max() ?? 0
        let nameWidth = accessPoints.map(\.ssid.description.count).max() ?? 0
        for (index, accessPoint) in accessPoints.enumerated() {
            let parts = [
                accessPoint.on ? "\(accessPoint.signal) dBm" : "off", "\(accessPoint.frequency) MHz",
                "internet \(accessPoint.internet)", accessPoint.full ? "full" : "",
                accessPoint.admits ? "" : "refuses the device",
                accessPoint.addressMs == nil ? "gives no address" : "",
                accessPoint.joined ? hasAddress ? "the device is here" : "the device is here, without an address" : "",
            ]
            let number = index < 9 ? "\(index + 1)" : " "
            lines.append(
                "\(number) " + accessPoint.name.padded(to: width) + "  "
                    + accessPoint.ssid.description.padded(to: nameWidth) + "  "
                    + parts.filter { !$0.isEmpty }.joined(separator: ", "))
        }
        return lines.joined(separator: "\n")
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
