import AgentModel
import FuzzDriver

@testable import InterfaceNetwork

@_cdecl("notes_fuzz_main")
public func start(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    FuzzDriver.fuzz(count, arguments, with: fuzz)
}

/// What libFuzzer calls with each of its inputs: what a DHCP client noted of a network, whose words are in it. Of our hook,
/// of systemd-networkd, and of the whole machine.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = Array(UnsafeBufferPointer(start: start, count: count))
    let lease = NetworkNotes(assignments: text, servers: "NAME_SERVERS")
    let link = NetworkNotes(link: text)
    let machine = NetworkNotes(resolverConfiguration: text)
    for notes in [lease, link, machine] { check(notes) }
    let assigned = NetworkNotes(assignments: text, servers: "DNS")
    precondition(link == assigned || link == NetworkNotes(), "a link has all that is noted, or nothing")
    precondition(machine.captivePortalAPI == nil)
    return 0
}

/// It keeps to the limits, and reads the same once it is written.
private func check(_ notes: NetworkNotes) {
    precondition(notes.nameServers.count <= NetworkNotes.maximumServers)
    precondition(Set(notes.nameServers).count == notes.nameServers.count)
    precondition(notes.nameServers.allSatisfy { (1...65_535).contains($0.port) })
    if let url = notes.captivePortalAPI {
        precondition((1...NetworkNotes.longestURL).contains(url.utf8.count))
        precondition(url.utf8.allSatisfy { (0x21...0x7e).contains($0) })
    }
    let servers = notes.nameServers.map { server in
        (server.address.isIPv4 ? "\(server.address)" : "[\(server.address)]") + ":\(server.port)"
    }
    let written = """
        NAME_SERVERS=\(servers.joined(separator: " "))
        CAPTIVE_PORTAL=\(notes.captivePortalAPI ?? "")
        """
    precondition(NetworkNotes(assignments: Array(written.utf8), servers: "NAME_SERVERS") == notes)
}
