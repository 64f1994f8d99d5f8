import AgentModel
import NIOCore

// Names of the previous version, for programs that use the library. Gone in the next one.

@available(*, deprecated, renamed: "NetworkAnnouncements")
public typealias NetworkNotes = NetworkAnnouncements

@available(*, deprecated, renamed: "AnnouncementSource")
public typealias NoteSource = AnnouncementSource

extension AnnouncementSource {
    @available(*, deprecated, renamed: "supplied")
    public static var told: AnnouncementSource { .supplied }
}

extension InterfaceNetwork {
    @available(*, deprecated, renamed: "init(interface:on:announcements:watchedBy:)")
    public init(
        interface: String?, on group: any EventLoopGroup, notes source: AnnouncementSource,
        watchedBy watch: any OutsideWatch = NoOutsideWatch()
    ) { self.init(interface: interface, on: group, announcements: source, watchedBy: watch) }

    @available(*, deprecated, renamed: "announcements")
    public var notes: NetworkAnnouncements { announcements }

    @available(*, deprecated, renamed: "announcements(within:)")
    public func notes(within limit: Duration) async -> NetworkAnnouncements { await announcements(within: limit) }

    @available(*, deprecated, renamed: "setAnnouncements(_:)")
    public func tell(_ announcements: NetworkAnnouncements) { setAnnouncements(announcements) }
}
